"""Chains: steps in chunks, draws kept, divergence noticed, interruption survived."""

from pxsgmcmc.chain.callbacks import Event
from pxsgmcmc.chain.execution import Execution
from pxsgmcmc.chain.from_arrays import from_arrays
from pxsgmcmc.chain.sample import sample

__all__ = ["Event", "Execution", "from_arrays", "sample"]
