"""A run: draws of one or several chains, in memory or in a directory, and what to do with them."""

from pxsgmcmc.run.artifacts import DIAGNOSTICS, REPORT, RESULTS, VALIDATION
from pxsgmcmc.run.places import DrawPlace, NoSuchDraw
from pxsgmcmc.run.run import Run

__all__ = ["DIAGNOSTICS", "REPORT", "RESULTS", "VALIDATION", "DrawPlace", "NoSuchDraw", "Run"]
