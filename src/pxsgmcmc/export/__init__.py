"""Frozen predictors: what a run predicts, as one file that needs nothing of this package."""

from pxsgmcmc.export.options import Exported, ExportOptions
from pxsgmcmc.export.reader import FrozenPredictor

__all__ = ["ExportOptions", "Exported", "FrozenPredictor"]
