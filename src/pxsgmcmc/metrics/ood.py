"""Telling data like the training data ("inside") from data of another kind ("outside") by a score.

The score is larger the stranger the input: the predictive entropy, for example. Which side counts
as positive differs in the literature and changes everything but the AUROC, so it is an argument:
`positive="inside"` (the default) or `"outside"`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from pxsgmcmc.errors import UserError, check_number
from pxsgmcmc.metrics._checks import check_vector

if TYPE_CHECKING:
    from jaxtyping import Float, Real

Side = Literal["inside", "outside"]


class Roc(NamedTuple):
    """Receiver operating characteristic, from (0, 0) to (1, 1)."""

    false_positive_rate: Float[np.ndarray, " points"]
    true_positive_rate: Float[np.ndarray, " points"]


def _scores(
    inside: np.ndarray, outside: np.ndarray, positive: Side
) -> tuple[np.ndarray, np.ndarray]:
    """(positives, negatives), turned so that a positive should score higher."""
    inside, outside = check_vector("inside", inside), check_vector("outside", outside)
    if positive == "inside":
        return -inside, -outside
    if positive == "outside":
        return outside, inside
    raise UserError(f"`positive` must be 'inside' or 'outside', got {positive!r}.")


def _counts(
    inside: np.ndarray, outside: np.ndarray, positive: Side
) -> tuple[np.ndarray, np.ndarray, int, int]:
    """How many of each are accepted at each distinct threshold, strictest first; and in all."""
    positives, negatives = _scores(inside, outside, positive)
    thresholds = np.unique(np.concatenate([positives, negatives]))[::-1]
    # The number of scores that are at least the threshold.
    accepted = [
        len(side) - np.searchsorted(np.sort(side), thresholds, side="left")
        for side in (positives, negatives)
    ]
    return accepted[0], accepted[1], len(positives), len(negatives)


def roc(
    inside: Real[np.ndarray, " inside"],
    outside: Real[np.ndarray, " outside"],
    positive: Side = "inside",
) -> Roc:
    """Trade-off between accepting positives and accepting negatives, one point per distinct score.

    Args:
      inside: (n,) scores of data like the training data.
      outside: (m,) scores of other data.
      positive: which side should be accepted.

    Example:
      >>> roc(np.array([0.1, 0.2]), np.array([0.3])).true_positive_rate
      array([0. , 0.5, 1. , 1. ])
    """
    hits, alarms, positives, negatives = _counts(inside, outside, positive)
    return Roc(np.append(0, alarms) / negatives, np.append(0, hits) / positives)


def auroc(inside: Real[np.ndarray, " inside"], outside: Real[np.ndarray, " outside"]) -> float:
    """P(inside score < outside score) + P(equal) / 2, the same whichever side is positive.

    Example:
      >>> auroc(np.array([0.1, 0.2]), np.array([0.2, 0.3]))
      0.875
    """
    positives, negatives = _scores(inside, outside, "outside")
    ordered = np.sort(negatives)
    below = np.searchsorted(ordered, positives, side="left")  # negatives below each positive
    up_to = np.searchsorted(ordered, positives, side="right")
    return float((below + up_to).mean() / (2.0 * len(ordered)))


def tnr_at_tpr(
    inside: Real[np.ndarray, " inside"],
    outside: Real[np.ndarray, " outside"],
    tpr: float = 0.95,
    positive: Side = "inside",
) -> float:
    """Share of negatives turned away when `tpr` of the positives are accepted.

    The threshold is the strictest that accepts so many: the score of the ceil(tpr n)-th best of n
    positives. What ties with it is accepted.

    Args:
      inside: (n,) scores of data like the training data.
      outside: (m,) scores of other data.
      tpr: true positive rate to reach, above 0 and at most 1.
      positive: which side should be accepted.

    Example:
      >>> tnr_at_tpr(np.array([0.1, 0.2, 0.9]), np.array([0.5, 1.0]), tpr=0.66)
      1.0
    """
    check_number("tpr", tpr, above=0.0, at_most=1.0)
    positives, negatives = _scores(inside, outside, positive)
    # 0.07 * 100 is 7.000000000000001 in floating point and means 7.
    needed = max(1, math.ceil(tpr * len(positives) - 1e-9))
    threshold = np.sort(positives)[-needed]
    return float((negatives < threshold).mean())


def average_precision(
    inside: Real[np.ndarray, " inside"],
    outside: Real[np.ndarray, " outside"],
    positive: Side = "inside",
) -> float:
    """Area under the precision-recall curve (AUPR).

    A sum of steps, each gain in recall times the precision there, without interpolation.

    Example:
      >>> average_precision(np.array([0.1, 0.2]), np.array([0.3]))
      1.0
    """
    hits, alarms, positives, _ = _counts(inside, outside, positive)
    gains = np.diff(hits, prepend=0) / positives
    return float((gains * hits / (hits + alarms)).sum())


def detection(
    inside: Real[np.ndarray, " inside"], outside: Real[np.ndarray, " outside"]
) -> dict[str, float]:
    """Every number of the out-of-distribution table at once, both orientations.

    Example:
      >>> sorted(detection(np.array([0.1, 0.2]), np.array([0.3])))[:3]
      ['aupr_inside', 'aupr_outside', 'auroc']
    """
    table = {"auroc": auroc(inside, outside)}
    for positive in ("inside", "outside"):
        table[f"tnr95_{positive}"] = tnr_at_tpr(inside, outside, 0.95, positive)
        table[f"tnr99_{positive}"] = tnr_at_tpr(inside, outside, 0.99, positive)
        table[f"aupr_{positive}"] = average_precision(inside, outside, positive)
    return table
