"""Energies of networks: likelihoods, priors, and their sum on a mini-batch."""

from pxsgmcmc.potential.likelihoods import classification, regression, with_noise
from pxsgmcmc.potential.posterior import EnergyParts, Posterior, freeze_factors, posterior
from pxsgmcmc.potential.priors import Exact, Normal, exact, normal

__all__ = [
    "EnergyParts",
    "Exact",
    "Normal",
    "Posterior",
    "classification",
    "exact",
    "freeze_factors",
    "normal",
    "posterior",
    "regression",
    "with_noise",
]
