"""What the figures of a regression are drawn from, as plain lists that JSON can hold.

The keys are the fields of `Regression` and `Band` in `pxsgmcmc.results`, into which
`msgspec.convert(found, Regression)` turns them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.metrics._checks import check_real, check_vector
from pxsgmcmc.metrics.predictive_mixture import PredictiveMixture
from pxsgmcmc.metrics.regression_calibration import coverage_curve, error_against_spread, pit

if TYPE_CHECKING:
    from jaxtyping import Real

MOST_POINTS = 400
BAND_LEVELS = (0.05, 0.25, 0.75, 0.95)


def regression_figures(
    mixture: PredictiveMixture,
    y: Real[np.ndarray, "rows targets"] | Real[np.ndarray, " rows"],
    names: Sequence[str] | None = None,
    *,
    seed: int = 0,
    pit_bins: int = 20,
    spread_bins: int = 10,
) -> dict[str, Any]:
    """Predicted against observed, PIT histogram, coverage curve, error against spread.

    PIT and coverage are pooled over the targets, which have no unit in common but probability.

    Args:
      mixture: what the draws predict.
      y: (rows, targets), or (rows,) for one target.
      names: of the targets; "y", or "y1", "y2", ... unless told.
      seed: of the rows that are shown where there are more than 400, and of the PIT of counts.
      pit_bins: How many bins of equal width the histogram has.
      spread_bins: How many bins of equal count; fewer than 10 rows to a bin make it fewer.

    Returns:
      The fields of `Regression`.

    Example:
      >>> from pxsgmcmc.metrics import NormalMixture
      >>> figures = regression_figures(NormalMixture([[[1.0]]], 2.0), np.array([1.5]), ["height"])
      >>> figures["targets"], figures["points"]
      (['height'], [{'predicted': [1.0], 'observed': [1.5], 'std': [2.0]}])
    """
    observed = mixture.observed(y)
    _, rows, targets = mixture.shape
    check_count("pit_bins", pit_bins, at_least=1)
    rng = np.random.default_rng(seed)
    shown = _thinned(rows, rng)
    mean, std = mixture.mean(), mixture.std()
    transform = pit(mixture, observed, rng)
    counts, edges = np.histogram(transform, pit_bins, (0.0, 1.0))
    nominal, inside = coverage_curve(transform)
    bins = error_against_spread(mixture, observed, max(1, min(spread_bins, rows // 10)))
    return {
        "targets": _target_names(names, targets),
        "points": [
            {
                "predicted": _numbers(mean[shown, t]),
                "observed": _numbers(observed[shown, t]),
                "std": _numbers(std[shown, t]),
            }
            for t in range(targets)
        ],
        "pit_edges": edges.tolist(),
        "pit_counts": counts.tolist(),
        "nominal": nominal.tolist(),
        "coverage": inside.tolist(),
        "spread": [
            {
                "std": _numbers(bins.std[:, t]),
                "rmse": _numbers(bins.rmse[:, t]),
                "count": bins.counts.tolist(),
            }
            for t in range(targets)
        ],
    }


def band_figures(
    mixture: PredictiveMixture,
    grid: Real[np.ndarray, " rows"],
    x: Real[np.ndarray, " data"],
    y: Real[np.ndarray, "data targets"] | Real[np.ndarray, " data"],
    names: Sequence[str] | None = None,
    *,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Bands of the predictive distribution over one input, with the training data, by target.

    Args:
      mixture: what the draws predict at the points of `grid`.
      grid: (rows,) values of the input, increasing.
      x: (data,) the training inputs.
      y: (data, targets), or (data,) for one target.
      names: of the targets.
      seed: of the data that are shown where there are more than 400.

    Returns:
      The fields of `Band`, for each target.

    Example:
      >>> from pxsgmcmc.metrics import NormalMixture
      >>> mixture = NormalMixture(np.zeros((1, 2, 1)), scale=1.0)
      >>> [band] = band_figures(mixture, np.array([0.0, 1.0]), np.array([0.5]), np.array([0.1]))
      >>> [round(value, 3) for value in band["quantiles"]["0.95"]]
      [1.645, 1.645]
    """
    _, rows, targets = mixture.shape
    grid, x = check_vector("grid", grid, rows), check_vector("x", x)
    if (np.diff(grid) <= 0.0).any():
        raise UserError("`grid` must increase from entry to entry; sort it before predicting.")
    y = check_real("y", y).astype(np.float64).reshape(len(x), -1)
    if y.shape[1] != targets:
        raise UserError(f"`y` must have {targets} columns as the mixture has, got {y.shape[1]}.")
    shown = _thinned(len(x), np.random.default_rng(seed))
    mean, quantiles = mixture.mean(), mixture.quantile(BAND_LEVELS)
    return [
        {
            "target": name,
            "x": grid.tolist(),
            "mean": _numbers(mean[:, t]),
            "quantiles": {
                f"{level:g}": quantiles[i, :, t].tolist() for i, level in enumerate(BAND_LEVELS)
            },
            "train_x": x[shown].tolist(),
            "train_y": y[shown, t].tolist(),
        }
        for t, name in enumerate(_target_names(names, targets))
    ]


def _target_names(names: Sequence[str] | None, targets: int) -> list[str]:
    if names is None:
        return ["y"] if targets == 1 else [f"y{t + 1}" for t in range(targets)]
    if len(names) != targets:
        raise UserError(f"`names` must name {targets} targets, got {len(names)} names.")
    return list(names)


def _thinned(rows: int, rng: np.random.Generator) -> np.ndarray:
    """All rows in order, or 400 of them at random."""
    if rows <= MOST_POINTS:
        return np.arange(rows)
    return np.sort(rng.choice(rows, MOST_POINTS, replace=False))


def _numbers(values: np.ndarray) -> list[float | None]:
    """As a list, None for what is infinite or not defined: JSON has no word for it."""
    return [float(value) if np.isfinite(value) else None for value in values]
