"""What the draws say together: the streaming Bayesian model average."""

from pxsgmcmc.predict.average import predict
from pxsgmcmc.predict.forward import Forward
from pxsgmcmc.predict.output_cache import OutputCache
from pxsgmcmc.predict.stored_draws import StoredDraw, keep_outputs

__all__ = ["Forward", "OutputCache", "StoredDraw", "keep_outputs", "predict"]
