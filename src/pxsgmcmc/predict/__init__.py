"""What the draws say together: the streaming Bayesian model average."""

from pxsgmcmc.predict.average import Predictive, predict
from pxsgmcmc.predict.logits import LogitFile

__all__ = ["LogitFile", "Predictive", "predict"]
