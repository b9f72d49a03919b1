"""Weights that were learned before: those that come with the package, and readers of others."""

from pxsgmcmc.pretrained.l2e import BUNDLED, load_l2e

__all__ = ["BUNDLED", "load_l2e"]
