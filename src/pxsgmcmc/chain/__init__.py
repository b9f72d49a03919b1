"""One chain: steps in chunks, draws kept, divergence noticed, interruption survived."""

from pxsgmcmc.chain.record import Samples
from pxsgmcmc.chain.sample import sample

__all__ = ["Samples", "sample"]
