"""Samplers, one equation a file: each builder returns a `Sampler(init, step)`."""

from pxsgmcmc.samplers.adaptation import adaptation
from pxsgmcmc.samplers.as_optax import as_optax
from pxsgmcmc.samplers.ggmc import ggmc
from pxsgmcmc.samplers.hmc import hmc
from pxsgmcmc.samplers.l2e import l2e
from pxsgmcmc.samplers.psgld import psgld
from pxsgmcmc.samplers.sgd import sgd
from pxsgmcmc.samplers.sghmc import sghmc
from pxsgmcmc.samplers.sgld import sgld
from pxsgmcmc.samplers.sgnht import sgnht
from pxsgmcmc.samplers.sgrhmc import sgrhmc

__all__ = [
    "adaptation",
    "as_optax",
    "ggmc",
    "hmc",
    "l2e",
    "psgld",
    "sgd",
    "sghmc",
    "sgld",
    "sgnht",
    "sgrhmc",
]
