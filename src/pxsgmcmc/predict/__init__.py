"""What the draws say together: the streaming Bayesian model average."""

from pxsgmcmc.predict.average import Predictive, predict
from pxsgmcmc.predict.keep import StoredDraw, keep_logits
from pxsgmcmc.predict.logits import LogitFile

__all__ = ["LogitFile", "Predictive", "StoredDraw", "keep_logits", "predict"]
