"""Metrics of an ensemble of classifiers, by name.

With draws m, data i, logits z, p = softmax(z), p_bar the mean of p over the draws, label y:

    err          mean_i [argmax_k p_bar != y]              (the first class wins a tie)
    nll          -mean_i log p_bar_y                       (ENS)
    ind          -mean_m mean_i log p_y                    (IND)
    amb          ind - nll of softmax(mean_m z)            (AMB; never negative)
    var          mean_i sum_k Var_m p_k                    (VAR; population variance)
    var_label    mean_i Var_m p_y
    var_ortega   mean_i Var_m p_y / (2 max_m p_y^2)        (Ortega et al., 2022)
    ece          expected calibration error of max_k p_bar in 15 right-closed bins
    brier        mean_i sum_k (p_bar_k - [k = y])^2        (from 0 to 2)
    entropy      mean_i H(p_bar) in nats, and its two parts:
    aleatoric    mean_i mean_m H(p)
    epistemic    entropy - aleatoric                       (mutual information)

Logits may be a memory-mapped file of any size: they are read in blocks of rows, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pxsgmcmc.errors import UserError
from pxsgmcmc.metrics._checks import check_labels, check_logits, row_blocks
from pxsgmcmc.metrics._ensemble import Ensemble
from pxsgmcmc.metrics._windows import Windows, whole
from pxsgmcmc.metrics.calibration import BINS, bin_sums, calibration_error
from pxsgmcmc.metrics.logspace import most_probable

if TYPE_CHECKING:
    from jaxtyping import Integer, Real


@dataclass(frozen=True)
class Metric:
    """One number for an ensemble on labelled data; call it with (logits, labels).

    Attributes:
      name: as in `metric(name)`.
      title: for tables and axes.
      lower_is_better: None for what is neither good nor bad in itself.
      sums: Ensemble -> (windows, ...), sums over the rows; those of several blocks are added.
      finish: (sums, rows) -> (windows,), the metric.
    """

    name: str
    title: str
    lower_is_better: bool | None
    sums: Callable[[Ensemble], np.ndarray]
    finish: Callable[[np.ndarray, int], np.ndarray]

    def __call__(
        self,
        logits: Real[np.ndarray, "draws data classes"] | Real[np.ndarray, "data classes"],
        labels: Integer[np.ndarray, " data"],
    ) -> float:
        """Compute this metric; see `measure`."""
        return measure(logits, labels, [self.name])[self.name]


def _mean_over_rows(values: Callable[[Ensemble], np.ndarray]) -> tuple[Any, Any]:
    """(sums, finish) of a metric that is the mean over rows of `values`, (windows, rows)."""
    return (lambda e: values(e).sum(axis=-1)), (lambda sums, rows: sums / rows)


def _members_nll(e: Ensemble) -> np.ndarray:
    return -e.windows.mean(e.of_label(e.log_p))


def _ambiguity(e: Ensemble) -> np.ndarray:
    return _members_nll(e) + e.of_label(e.log_p_of_mean_logits)


def _label_variance(e: Ensemble) -> np.ndarray:
    return e.of_label(e.variance)


def _ortega_variance(e: Ensemble) -> np.ndarray:
    scale = 2.0 * e.windows.fold(np.maximum, e.of_label(e.p)) ** 2
    variance = _label_variance(e)
    return np.divide(variance, scale, out=np.zeros_like(variance), where=scale > 0.0)


def _brier(e: Ensemble) -> np.ndarray:
    return (e.p_bar**2).sum(axis=-1) - 2.0 * e.of_label(e.p_bar) + 1.0


def _errors(e: Ensemble) -> np.ndarray:
    return most_probable(e.log_p_bar) != e.labels


def _calibration_sums(e: Ensemble) -> np.ndarray:
    return bin_sums(e.p_bar.max(axis=-1), ~_errors(e), BINS)


METRICS: dict[str, Metric] = {
    m.name: m
    for m in [
        Metric("err", "ERR", True, *_mean_over_rows(_errors)),
        Metric("nll", "NLL", True, *_mean_over_rows(lambda e: -e.of_label(e.log_p_bar))),
        Metric("ind", "IND", True, *_mean_over_rows(_members_nll)),
        Metric("amb", "AMB", None, *_mean_over_rows(_ambiguity)),
        Metric("var", "VAR", None, *_mean_over_rows(lambda e: e.variance.sum(axis=-1))),
        Metric("var_label", "VAR (label)", None, *_mean_over_rows(_label_variance)),
        Metric("var_ortega", "VAR (Ortega)", None, *_mean_over_rows(_ortega_variance)),
        Metric("ece", "ECE", True, _calibration_sums, lambda sums, rows: calibration_error(sums)),
        Metric("brier", "Brier", True, *_mean_over_rows(_brier)),
        Metric("entropy", "Entropy", None, *_mean_over_rows(lambda e: e.entropy)),
        Metric("aleatoric", "Aleatoric", None, *_mean_over_rows(lambda e: e.aleatoric)),
        Metric("epistemic", "Epistemic", None, *_mean_over_rows(lambda e: e.epistemic)),
    ]
}


def metric(name: str) -> Metric:
    """Look a metric up by name.

    Example:
      >>> logits = np.array([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 3.0]]])
      >>> round(metric("amb")(logits, np.array([0, 1])), 7)
      0.1500072
    """
    if name not in METRICS:
        raise UserError(f"There is no metric {name!r}; known are {', '.join(METRICS)}.")
    return METRICS[name]


def measure_windows(
    logits: np.ndarray, labels: np.ndarray, names: Iterable[str], windows: Windows
) -> dict[str, np.ndarray]:
    """Metrics of every window over the draws, name -> (windows,); input is checked already."""
    chosen = [metric(name) for name in names]
    sums: dict[str, Any] = {m.name: 0.0 for m in chosen}
    for rows, block in row_blocks(logits):
        ensemble = Ensemble(block, labels[rows], windows)
        for m in chosen:
            sums[m.name] = sums[m.name] + m.sums(ensemble)
    return {m.name: m.finish(sums[m.name], len(labels)) for m in chosen}


def measure(
    logits: Real[np.ndarray, "draws data classes"] | Real[np.ndarray, "data classes"],
    labels: Integer[np.ndarray, " data"],
    names: Iterable[str] | None = None,
) -> dict[str, float]:
    """Metrics of the ensemble of all draws, in one pass over the logits.

    Args:
      logits: (draws, data, classes), or (data, classes) for a single prediction, for which
        log-probabilities do as well: a model average that was streamed is scored so.
      labels: (data,) whole numbers from 0.
      names: keys of `METRICS`; all of them unless told.

    Example:
      >>> logits = np.array([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 3.0]]])
      >>> {k: round(v, 5) for k, v in measure(logits, np.array([0, 1]), ["err", "nll"]).items()}
      {'err': 0.0, 'nll': 0.3629}
    """
    logits = check_logits(logits)
    labels = check_labels(labels, logits)
    names = METRICS if names is None else names
    values = measure_windows(logits, labels, names, whole(len(logits)))
    return {name: float(value[0]) for name, value in values.items()}
