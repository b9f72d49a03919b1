"""Metrics of an ensemble of regressions, by name.

With draws m, rows i, targets t, mean μ and density p of the mixture over the draws, observed y:

    rmse             √(mean_it (μ - y)^2)
    mae              mean_it |μ - y|
    nll              -mean_i sum_t log p(y)                  (ENS: each target's own mixture)
    ind              -mean_m mean_i sum_t log p_m(y)         (IND)
    crps             mean_it ∫ (F(x) - [x >= y])^2 dx
    coverage90       share of y within the central 90% interval; ideally 0.9
    width90          mean width of that interval
    coverage50       share of y within the central 50% interval; ideally 0.5
    std              mean_it of the predictive standard deviation
    epistemic_share  mean_it of epistemic variance / variance

Errors are in the targets' unit: of targets in several units they are an average over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pxsgmcmc.errors import UserError
from pxsgmcmc.metrics._regression_ensemble import RegressionEnsemble
from pxsgmcmc.metrics._windows import Windows, whole
from pxsgmcmc.metrics.predictive_mixture import PredictiveMixture

if TYPE_CHECKING:
    from jaxtyping import Real


@dataclass(frozen=True)
class RegressionMetric:
    """One number for an ensemble of regressions; call it with (mixture, y).

    Attributes:
      name: as in `regression_metric(name)`.
      title: for tables and axes.
      lower_is_better: None for what is neither good nor bad in itself.
      sums: RegressionEnsemble -> (windows,), a sum over the rows; those of several blocks add up.
      finish: (sums, rows) -> (windows,), the metric.
    """

    name: str
    title: str
    lower_is_better: bool | None
    sums: Callable[[RegressionEnsemble], np.ndarray]
    finish: Callable[[np.ndarray, int], np.ndarray]

    def __call__(
        self,
        mixture: PredictiveMixture,
        y: Real[np.ndarray, "rows targets"] | Real[np.ndarray, " rows"],
    ) -> float:
        """Compute this metric; see `measure_regression`."""
        return measure_regression(mixture, y, [self.name])[self.name]


def _averaged(values: Callable[[RegressionEnsemble], np.ndarray]) -> tuple[Any, Any]:
    """(sums, finish) of the mean over rows and targets of `values`, (windows, rows, targets)."""
    return (lambda e: values(e).mean(axis=-1).sum(axis=-1)), (lambda sums, rows: sums / rows)


def _added(values: Callable[[RegressionEnsemble], np.ndarray]) -> tuple[Any, Any]:
    """(sums, finish) of the mean over rows of the sum over targets."""
    return (lambda e: values(e).sum(axis=(-2, -1))), (lambda sums, rows: sums / rows)


def _root_mean_square(values: Callable[[RegressionEnsemble], np.ndarray]) -> tuple[Any, Any]:
    sums, _ = _averaged(lambda e: values(e) ** 2)
    return sums, (lambda sums, rows: np.sqrt(sums / rows))


def _share(e: RegressionEnsemble) -> np.ndarray:
    return np.divide(e.epistemic, e.variance, out=np.zeros_like(e.mean), where=e.variance > 0.0)


def _members_nll(e: RegressionEnsemble) -> np.ndarray:
    return -e.windows.mean(e.member_log_density)


REGRESSION_METRICS: dict[str, RegressionMetric] = {
    m.name: m
    for m in [
        RegressionMetric("rmse", "RMSE", True, *_root_mean_square(lambda e: e.mean - e.y)),
        RegressionMetric("mae", "MAE", True, *_averaged(lambda e: np.abs(e.mean - e.y))),
        RegressionMetric("nll", "NLL", True, *_added(lambda e: -e.log_density)),
        RegressionMetric("ind", "IND", True, *_added(_members_nll)),
        RegressionMetric("crps", "CRPS", True, *_averaged(lambda e: e.crps)),
        RegressionMetric("coverage90", "Coverage 90%", None, *_averaged(lambda e: e.inside(0.9))),
        RegressionMetric("width90", "Width 90%", None, *_averaged(lambda e: e.width(0.9))),
        RegressionMetric("coverage50", "Coverage 50%", None, *_averaged(lambda e: e.inside(0.5))),
        RegressionMetric("std", "Std", None, *_averaged(lambda e: np.sqrt(e.variance))),
        RegressionMetric("epistemic_share", "Epistemic share", None, *_averaged(_share)),
    ]
}


def regression_metric(name: str) -> RegressionMetric:
    """Look a regression metric up by name.

    Example:
      >>> from pxsgmcmc.metrics import NormalMixture
      >>> regression_metric("mae")(NormalMixture([[[1.0], [2.0]]], scale=1.0), np.array([0.0, 4.0]))
      1.5
    """
    if name not in REGRESSION_METRICS:
        raise UserError(
            f"There is no regression metric {name!r}; known are {', '.join(REGRESSION_METRICS)}."
        )
    return REGRESSION_METRICS[name]


def measure_regression_windows(
    mixture: PredictiveMixture, y: np.ndarray, names: Iterable[str], windows: Windows
) -> dict[str, np.ndarray]:
    """Metrics of every window over the draws, name -> (windows,); `y` is checked already."""
    chosen = [regression_metric(name) for name in names]
    sums: dict[str, Any] = {m.name: 0.0 for m in chosen}
    for rows, block in mixture.blocks():
        ensemble = RegressionEnsemble(block, y[rows], windows)
        for m in chosen:
            sums[m.name] = sums[m.name] + m.sums(ensemble)
    return {m.name: m.finish(sums[m.name], len(y)) for m in chosen}


def measure_regression(
    mixture: PredictiveMixture,
    y: Real[np.ndarray, "rows targets"] | Real[np.ndarray, " rows"],
    names: Iterable[str] | None = None,
) -> dict[str, float]:
    """Metrics of the mixture of all draws, in one pass over its rows.

    `std` is infinite where the noise has no variance (Student-t with a freedom of at most 2).

    Args:
      mixture: what the draws predict.
      y: (rows, targets), or (rows,) for one target.
      names: keys of `REGRESSION_METRICS`; all of them unless told.

    Example:
      >>> from pxsgmcmc.metrics import NormalMixture
      >>> mixture = NormalMixture([[[0.0]], [[2.0]]], scale=1.0)
      >>> found = measure_regression(mixture, np.array([2.0]), ["rmse", "nll", "epistemic_share"])
      >>> {name: round(value, 4) for name, value in found.items()}
      {'rmse': 1.0, 'nll': 1.4852, 'epistemic_share': 0.5}
    """
    observed = mixture.observed(y)
    names = REGRESSION_METRICS if names is None else names
    values = measure_regression_windows(mixture, observed, names, whole(mixture.shape[0]))
    return {name: float(value[0]) for name, value in values.items()}
