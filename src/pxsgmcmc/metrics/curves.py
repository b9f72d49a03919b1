"""Metrics against the number of draws and against burn-in, without a further forward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.metrics._checks import check_labels, check_logits
from pxsgmcmc.metrics._windows import Windows, firsts, sliding, whole
from pxsgmcmc.metrics.classification import METRICS, measure_windows

if TYPE_CHECKING:
    from jaxtyping import Float, Integer, Real


class BurnInCurve(NamedTuple):
    """A metric when the first draws are left out and the next `width` are kept."""

    burn_in: Integer[np.ndarray, " windows"]  # draws left out: 0, 1, ..., draws - width
    individual: Float[np.ndarray, " windows"]  # IND(1): mean of the kept draws' own metrics
    ensemble: Float[np.ndarray, " windows"]  # BMA(width): metric of the kept draws together
    every_draw: float  # BMA(draws): metric of all draws, none left out
    width: int


def measure_by_draws(
    logits: Real[np.ndarray, "draws data classes"],
    labels: Integer[np.ndarray, " data"],
    names: Iterable[str] | None = None,
    counts: Integer[np.ndarray, " counts"] | None = None,
) -> dict[str, Float[np.ndarray, " counts"]]:
    """Metrics of the first 1, 2, 3, ... draws.

    Args:
      logits: (draws, data, classes).
      labels: (data,).
      names: keys of `METRICS`; all of them unless told.
      counts: (counts,) numbers of draws, each from 1 to draws; all of them unless told.

    Returns:
      name -> (counts,).

    Example:
      >>> logits = np.array([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 3.0]]])
      >>> measure_by_draws(logits, np.array([0, 1]), ["nll"])["nll"].round(4)
      array([0.2201, 0.3629])
    """
    logits = check_logits(logits)
    labels = check_labels(labels, logits)
    windows = firsts(check_counts(counts, len(logits)))
    return measure_windows(logits, labels, METRICS if names is None else names, windows)


def measure_by_burn_in(
    logits: Real[np.ndarray, "draws data classes"],
    labels: Integer[np.ndarray, " data"],
    names: Iterable[str] | None = None,
    width: int | None = None,
) -> dict[str, BurnInCurve]:
    """Metrics of `width` consecutive draws against the number of draws left out before them.

    Args:
      logits: (draws, data, classes).
      labels: (data,).
      names: keys of `METRICS`; all of them unless told.
      width: draws kept; half of them unless told, so that 100 draws give BMA(50) for burn-in 0..50.

    Example:
      >>> logits = np.array([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 3.0]]])
      >>> curve = measure_by_burn_in(logits, np.array([0, 1]), ["nll"], width=1)["nll"]
      >>> curve.ensemble.round(4), round(curve.every_draw, 4)
      (array([0.2201, 0.6809]), 0.3629)
    """
    logits = check_logits(logits)
    labels = check_labels(labels, logits)
    names = list(METRICS if names is None else names)
    return burn_in_curves(
        lambda windows: measure_windows(logits, labels, names, windows), len(logits), width
    )


def check_counts(counts: np.ndarray | None, draws: int) -> np.ndarray:
    """Return numbers of draws, each from 1 to `draws`; all of them for None."""
    counts = np.arange(1, draws + 1) if counts is None else np.asarray(counts)
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or not counts.size:
        raise UserError(f"`counts` must be a list of whole numbers, got {counts.tolist()}.")
    if counts.min() < 1 or counts.max() > draws:
        raise UserError(f"`counts` must lie in 1..{draws}, the draws there are, got {counts}.")
    return counts


def burn_in_curves(
    measure: Callable[[Windows], dict[str, np.ndarray]], draws: int, width: int | None
) -> dict[str, BurnInCurve]:
    """A curve for each metric of `measure`, which takes windows over the draws."""
    width = max(1, draws // 2) if width is None else check_count("width", width, at_least=1)
    if width > draws:
        raise UserError(f"`width` must be at most {draws}, the draws there are, got {width}.")
    windows = sliding(draws, width)
    alone, together = measure(sliding(draws, 1)), measure(windows)
    return {
        name: BurnInCurve(
            burn_in=np.arange(draws - width + 1),
            individual=windows.fold(np.add, alone[name]) / width,
            ensemble=together[name],
            every_draw=float(value[0]),
            width=width,
        )
        for name, value in measure(whole(draws)).items()
    }
