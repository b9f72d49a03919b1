"""Regression metrics against the number of draws and against burn-in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from pxsgmcmc.metrics._windows import firsts
from pxsgmcmc.metrics.curves import BurnInCurve, burn_in_curves, check_counts
from pxsgmcmc.metrics.predictive_mixture import PredictiveMixture
from pxsgmcmc.metrics.regression import measure_regression_windows

if TYPE_CHECKING:
    from jaxtyping import Float, Integer, Real

CURVES = ("rmse", "nll")  # cheap over many windows; CRPS and widths cost a root or a pair for each


def measure_regression_by_draws(
    mixture: PredictiveMixture,
    y: Real[np.ndarray, "rows targets"] | Real[np.ndarray, " rows"],
    names: Iterable[str] = CURVES,
    counts: Integer[np.ndarray, " counts"] | None = None,
) -> dict[str, Float[np.ndarray, " counts"]]:
    """Regression metrics of the first 1, 2, 3, ... draws.

    Args:
      mixture: what the draws predict.
      y: (rows, targets), or (rows,) for one target.
      names: keys of `REGRESSION_METRICS`.
      counts: (counts,) numbers of draws, each from 1 to draws; all of them unless told.

    Returns:
      name -> (counts,).

    Example:
      >>> from pxsgmcmc.metrics import NormalMixture
      >>> mixture = NormalMixture([[[0.0]], [[2.0]]], scale=1.0)
      >>> measure_regression_by_draws(mixture, np.array([2.0]), ["rmse"])["rmse"]
      array([2., 1.])
    """
    observed = mixture.observed(y)
    windows = firsts(check_counts(counts, mixture.shape[0]))
    return measure_regression_windows(mixture, observed, names, windows)


def measure_regression_by_burn_in(
    mixture: PredictiveMixture,
    y: Real[np.ndarray, "rows targets"] | Real[np.ndarray, " rows"],
    names: Iterable[str] = CURVES,
    width: int | None = None,
) -> dict[str, BurnInCurve]:
    """Regression metrics of `width` consecutive draws against the draws left out before them.

    Args:
      mixture: what the draws predict.
      y: (rows, targets), or (rows,) for one target.
      names: keys of `REGRESSION_METRICS`.
      width: draws kept; half of them unless told.

    Example:
      >>> from pxsgmcmc.metrics import NormalMixture
      >>> mixture = NormalMixture([[[0.0]], [[2.0]]], scale=1.0)
      >>> curve = measure_regression_by_burn_in(mixture, np.array([2.0]), ["rmse"])["rmse"]
      >>> curve.ensemble, curve.every_draw
      (array([2., 0.]), 1.0)
    """
    observed, names = mixture.observed(y), list(names)
    return burn_in_curves(
        lambda windows: measure_regression_windows(mixture, observed, names, windows),
        mixture.shape[0],
        width,
    )
