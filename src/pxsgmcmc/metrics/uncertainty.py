"""The predictive distribution row by row, and how much of its uncertainty each source brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pxsgmcmc.metrics._checks import check_logits, row_blocks
from pxsgmcmc.metrics._ensemble import Ensemble
from pxsgmcmc.metrics._windows import whole

if TYPE_CHECKING:
    from jaxtyping import Float, Real


class Uncertainty(NamedTuple):
    """Predictive entropy in nats and its two parts: total = aleatoric + epistemic."""

    total: Float[np.ndarray, " data"]  # entropy of the mean prediction
    aleatoric: Float[np.ndarray, " data"]  # mean entropy of the draws' predictions
    epistemic: Float[np.ndarray, " data"]  # mutual information of label and draw


def log_mean_probabilities(
    logits: Real[np.ndarray, "draws data classes"],
) -> Float[np.ndarray, "data classes"]:
    """Log-probabilities of the Bayesian model average over the draws.

    Example:
      >>> logits = np.array([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 3.0]]])
      >>> np.exp(log_mean_probabilities(logits)).round(5)
      array([[0.57487, 0.42513],
             [0.15818, 0.84182]])
    """
    logits = check_logits(logits)
    result = np.empty(logits.shape[1:])
    for rows, block in row_blocks(logits):
        result[rows] = Ensemble(block, None, whole(len(block))).log_p_bar[0]
    return result


def uncertainty(logits: Real[np.ndarray, "draws data classes"]) -> Uncertainty:
    """Split the entropy of the model average into what every draw has and what their dispute adds.

    Example:
      >>> disputed = np.array([[[9.0, 0.0]], [[0.0, 9.0]]])  # each draw is sure, of another class
      >>> [part.round(2).tolist() for part in uncertainty(disputed)]
      [[0.69], [0.0], [0.69]]
    """
    logits = check_logits(logits)
    parts = np.empty((3, logits.shape[1]))
    for rows, block in row_blocks(logits):
        ensemble = Ensemble(block, None, whole(len(block)))
        for part, values in zip(
            parts, (ensemble.entropy, ensemble.aleatoric, ensemble.epistemic), strict=True
        ):
            part[rows] = values[0]
    return Uncertainty(*parts)
