"""Whether predicted spreads mean what they say: PIT, coverage of intervals, error against spread.

The probability integral transform F(y) of the predictive distribution is uniform where predictions
are right (Dawid, 1984): heaped at both ends they are too narrow, heaped in the middle too wide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.metrics._checks import check_real
from pxsgmcmc.metrics.predictive_mixture import PredictiveMixture

if TYPE_CHECKING:
    from jaxtyping import Float, Integer, Real


class CoverageCurve(NamedTuple):
    """Share of the data inside central intervals, against what their probability promises."""

    nominal: Float[np.ndarray, " levels"]
    observed: Float[np.ndarray, " levels"]


class SpreadBins(NamedTuple):
    """Rows in bins of equal count by their predicted standard deviation, narrowest first."""

    std: Float[np.ndarray, "bins targets"]  # root mean square of the predicted ones
    rmse: Float[np.ndarray, "bins targets"]  # of the predictive mean
    counts: Integer[np.ndarray, " bins"]


def pit(
    mixture: PredictiveMixture,
    y: Real[np.ndarray, "rows targets"] | Real[np.ndarray, " rows"],
    rng: np.random.Generator | None = None,
) -> Float[np.ndarray, "rows targets"]:
    """Probability integral transform of what was observed, from 0 to 1.

    For counts it is randomised, uniform from F(y - 1) to F(y), so that it is uniform for right
    predictions too (Czado, Gneiting and Held, 2009).

    Args:
      mixture: what the draws predict.
      y: (rows, targets), or (rows,) for one target.
      rng: For counts only: where the random part comes from.

    Example:
      >>> from pxsgmcmc.metrics import NormalMixture
      >>> pit(NormalMixture([[[0.0]], [[2.0]]], scale=1.0), np.array([1.0]))
      array([[0.5]])
    """
    at_y = mixture.cdf(y)
    if not mixture.counting:
        return at_y
    if rng is None:
        raise UserError(
            "`rng` must be a NumPy generator for counts, whose transform is randomised, got None; "
            "pass np.random.default_rng(0)."
        )
    observed = mixture.observed(y)
    parts = [b.component_cdf(observed[rows] - 1.0).mean(axis=0) for rows, b in mixture.blocks()]
    before_y = np.concatenate(parts)
    return before_y + rng.uniform(size=at_y.shape) * (at_y - before_y)


def coverage_curve(pit: Float[np.ndarray, "*data"], levels: int = 19) -> CoverageCurve:
    """How often the central interval of each probability holds what was observed.

    Args:
      pit: values of `pit`, of any shape, pooled.
      levels: How many probabilities, evenly between 0 and 1: 19 are 5%, 10%, ..., 95%.

    Example:
      >>> coverage_curve(np.array([0.1, 0.4, 0.6, 0.99]), levels=3)
      CoverageCurve(nominal=array([0.25, 0.5 , 0.75]), observed=array([0.5, 0.5, 0.5]))
    """
    check_count("levels", levels, at_least=1)
    values = check_real("pit", pit).ravel()
    if not values.size or not ((values >= 0.0) & (values <= 1.0)).all():
        raise UserError("`pit` must hold at least one number, all from 0 to 1; see `pit`.")
    nominal = np.arange(1, levels + 1) / (levels + 1)
    distance = 2.0 * np.abs(values - 0.5)
    # What is outside by rounding alone is on the edge.
    observed = (distance <= nominal[:, None] + 1e-12).mean(axis=1)
    return CoverageCurve(nominal, observed)


def error_against_spread(
    mixture: PredictiveMixture,
    y: Real[np.ndarray, "rows targets"] | Real[np.ndarray, " rows"],
    bins: int = 10,
) -> SpreadBins:
    """Error among rows of like predicted spread: the two are equal where spreads are right.

    Args:
      mixture: what the draws predict.
      y: (rows, targets), or (rows,) for one target.
      bins: How many bins; as many as there are rows if they are fewer.

    Example:
      >>> from pxsgmcmc.metrics import NormalMixture
      >>> mixture = NormalMixture(np.zeros((1, 4, 1)), scale=np.array([[1.0], [1.0], [3.0], [3.0]]))
      >>> binned = error_against_spread(mixture, np.array([1.0, -1.0, 2.0, 4.0]), bins=2)
      >>> binned.std.ravel(), binned.rmse.ravel().round(3)
      (array([1., 3.]), array([1.   , 3.162]))
    """
    bins = min(check_count("bins", bins, at_least=1), mixture.shape[1])
    std, squared = mixture.std(), (mixture.mean() - mixture.observed(y)) ** 2
    order = np.argsort(std, axis=0, kind="stable")
    parts = np.array_split(order, bins)

    def root_mean(values: np.ndarray) -> np.ndarray:
        means = [np.take_along_axis(values, part, axis=0).mean(axis=0) for part in parts]
        return np.sqrt(np.stack(means))

    return SpreadBins(root_mean(std**2), root_mean(squared), np.array([len(p) for p in parts]))
