"""Whether confidence means what it says: reliability, calibration error, risk against coverage.

Bins have equal widths and are closed on the right, ((j - 1) / bins, j / bins] (Guo et al., 2017).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.metrics._checks import check_vector

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Integer, Real

BINS = 15


class Reliability(NamedTuple):
    """A reliability diagram; confidence and accuracy are NaN in a bin without data."""

    edges: Float[np.ndarray, " edges"]  # one more than there are bins
    counts: Integer[np.ndarray, " bins"]
    confidence: Float[np.ndarray, " bins"]  # mean over the data of the bin
    accuracy: Float[np.ndarray, " bins"]
    error: float  # the expected calibration error


class RiskCoverage(NamedTuple):
    """Mean loss on the most certain part of the data, against how large that part is."""

    coverage: Float[np.ndarray, " data"]  # 1/n, 2/n, ..., 1
    risk: Float[np.ndarray, " data"]
    area: float  # mean of `risk`: smaller is better


def bin_sums(confidence: np.ndarray, correct: np.ndarray, bins: int) -> np.ndarray:
    """Count, summed confidence and summed correctness by bin, (..., rows) -> (..., 3, bins).

    Sums of parts of the data add up to those of the whole.
    """
    # What lies above an edge by rounding alone is on the edge: 1/5 is in (2/15, 3/15].
    index = np.clip(np.ceil(confidence * bins - 1e-9).astype(np.int64) - 1, 0, bins - 1)
    sums = np.zeros((*confidence.shape[:-1], 3, bins))
    for position in np.ndindex(confidence.shape[:-1]):
        for kind, weights in enumerate((None, confidence[position], correct[position])):
            sums[position][kind] = np.bincount(index[position], weights, minlength=bins)
    return sums


def calibration_error(sums: np.ndarray) -> np.ndarray:
    """Expected calibration error from the sums of `bin_sums`, (..., 3, bins) -> (...)."""
    gaps = np.abs(sums[..., 2, :] - sums[..., 1, :]).sum(axis=-1)
    return gaps / sums[..., 0, :].sum(axis=-1)


def reliability(
    confidence: Float[np.ndarray, " data"],
    correct: Bool[np.ndarray, " data"] | Integer[np.ndarray, " data"],
    bins: int = BINS,
) -> Reliability:
    """Accuracy against confidence, bin by bin.

    Args:
      confidence: (data,) probability given to the predicted class, from 0 to 1.
      correct: (data,) whether the prediction was right.
      bins: how many.

    Example:
      >>> conf, correct = np.array([0.62, 0.95, 0.97, 0.55, 0.81]), np.array([1, 1, 1, 0, 0])
      >>> round(reliability(conf, correct).error, 3)
      0.364
    """
    check_count("bins", bins, at_least=1)
    confidence = check_vector("confidence", confidence)
    correct = check_vector("correct", correct, len(confidence))
    if confidence.min() < 0.0 or confidence.max() > 1.0 + 1e-6:
        wrong = confidence[(confidence < 0.0) | (confidence > 1.0 + 1e-6)][0]
        raise UserError(f"`confidence` must lie between 0 and 1, got {wrong}.")
    sums = bin_sums(confidence, correct, bins)
    counts = sums[0].astype(np.int64)
    means = np.full((2, bins), np.nan)
    np.divide(sums[1:], counts, out=means, where=counts > 0)
    error = float(calibration_error(sums))
    return Reliability(np.arange(bins + 1) / bins, counts, means[0], means[1], error)


def risk_coverage(
    losses: Real[np.ndarray, " data"], uncertainty: Real[np.ndarray, " data"]
) -> RiskCoverage:
    """Mean loss when only the most certain predictions are kept.

    Among equally uncertain data every order is as likely: each of them counts with their mean loss,
    so the curve does not depend on the order of the rows.

    Args:
      losses: (data,) for example 1 where the prediction is wrong, else 0.
      uncertainty: (data,) for example the predictive entropy, or minus the confidence.

    Example:
      >>> risk_coverage(np.array([1, 0, 0, 1]), np.array([0.9, 0.1, 0.2, 0.3])).risk.round(3)
      array([0.   , 0.   , 0.333, 0.5  ])
    """
    losses = check_vector("losses", losses)
    uncertainty = check_vector("uncertainty", uncertainty, len(losses))
    _, group = np.unique(uncertainty, return_inverse=True)  # groups are in increasing order
    group_means = np.bincount(group, losses) / np.bincount(group)
    kept = np.arange(1, len(losses) + 1)
    risk = np.cumsum(group_means[np.sort(group)]) / kept
    return RiskCoverage(kept / len(losses), risk, float(risk.mean()))
