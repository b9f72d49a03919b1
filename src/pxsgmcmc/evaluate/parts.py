"""From what all draws say of a set to the parts of `results.json`."""

from typing import Any

import msgspec
import numpy as np

from pxsgmcmc.likelihoods.likelihood import Likelihood
from pxsgmcmc.metrics import (
    band_figures,
    log_mean_probabilities,
    most_probable,
    regression_figures,
    reliability,
    risk_coverage,
    uncertainty,
)
from pxsgmcmc.metrics._windows import firsts, sliding
from pxsgmcmc.problem import Problem
from pxsgmcmc.results import (
    Band,
    Curve,
    Gallery,
    Picture,
    Regression,
    ReliabilityResult,
    RiskCoverageResult,
    SplitResult,
)

MOST_POINTS = 200  # of a curve
BAND_POINTS = 200
WIDEST = 50  # draws in a window of the burn-in curve, as in the published figure
# Followed over draws: the loss a person would name first, and the NLL.
_FOLLOWED = {"classification": ("err", "nll"), "regression": ("rmse", "nll"), "custom": ("nll",)}
# Of each draw alone besides, so that every number on a report's first screen has its spread.
_ALONE = {"classification": ("ece",), "regression": ("crps", "coverage90"), "custom": ()}


def split_of(likelihood: Likelihood, outputs: np.ndarray, y: np.ndarray) -> SplitResult:
    """All draws together, and each alone."""
    names = _FOLLOWED[likelihood.task] + _ALONE[likelihood.task]
    alone = likelihood.measure_windows(outputs, y, names, sliding(len(outputs), 1))
    return SplitResult(
        rows=len(y),
        metrics=finite(likelihood.sums(outputs, y).metrics()),
        by_draw={name: values.tolist() for name, values in alone.items()},
    )


def finite(metrics: dict[str, float]) -> dict[str, float]:
    """Without what is infinite, such as the spread of noise that has no variance."""
    return {name: value for name, value in metrics.items() if np.isfinite(value)}


def curve_by_draws(likelihood: Likelihood, outputs: np.ndarray, y: np.ndarray) -> Curve:
    """Metrics of the first 1, 2, ... draws."""
    counts = thinned(len(outputs)) + 1
    names = _FOLLOWED[likelihood.task]
    if likelihood.task == "classification":
        names = (*names, "ece", "brier")
    curves = likelihood.measure_windows(outputs, y, names, firsts(counts))
    return Curve(at=counts.tolist(), values={n: v.tolist() for n, v in curves.items()})


def curve_by_burn_in(likelihood: Likelihood, outputs: np.ndarray, y: np.ndarray) -> Curve | None:
    """Metrics of a window of half the draws, against the draws before it; None for one draw.

    The window holds as many draws as there are, less the last of `at`. "individual" is the mean
    over single draws, "ensemble" that of the draws together.
    """
    if len(outputs) < 2:
        return None
    width = min(WIDEST, len(outputs) // 2)
    names = _FOLLOWED[likelihood.task]
    windows = sliding(len(outputs), width)
    together = likelihood.measure_windows(outputs, y, names, windows)
    alone = likelihood.measure_windows(outputs, y, names, sliding(len(outputs), 1))
    shown = thinned(len(outputs) - width + 1)
    values = {}
    for name in names:
        values[f"individual_{name}"] = windows.mean(alone[name])[shown].tolist()
        values[f"ensemble_{name}"] = together[name][shown].tolist()
    return Curve(at=shown.tolist(), values=values)


def figures(problem: Problem, outputs: np.ndarray) -> dict[str, Any]:
    """The parts of the test results that only this kind of task has."""
    x, y = problem.test
    if problem.likelihood.task == "classification":
        bins, risks = calibration(outputs, y)
        return {
            "reliability": bins,
            "risk_coverage": risks,
            "gallery": gallery_of(x, y, outputs, problem.names),
        }
    if problem.likelihood.task == "regression":
        regression = regression_figures(_mixture(problem, outputs), y, _target_names(problem))
        return {"regression": msgspec.convert(regression, Regression)}
    return {}


def band_grid(problem: Problem) -> np.ndarray | None:
    """Inputs along which bands are drawn: for a regression with one input, a little beyond it."""
    x = problem.train.x
    if problem.likelihood.task != "regression" or x.shape[1:] != (1,):
        return None
    low, high = float(x.min()), float(x.max())
    margin = 0.15 * (high - low)
    return np.linspace(low - margin, high + margin, BAND_POINTS, dtype=np.float32)[:, None]


def with_bands(
    regression: Regression, problem: Problem, grid: np.ndarray, outputs: np.ndarray
) -> Regression:
    """The same figures with bands over the one input."""
    x, y = problem.train
    bands = band_figures(_mixture(problem, outputs), grid[:, 0], x[:, 0], y, _target_names(problem))
    return msgspec.structs.replace(
        regression, bands=[msgspec.convert(band, Band) for band in bands]
    )


def _mixture(problem: Problem, outputs: np.ndarray) -> Any:
    return problem.likelihood.mixture(outputs)  # pyright: ignore[reportAttributeAccessIssue]


def _target_names(problem: Problem) -> list[str]:
    return [name if not name.isdecimal() else f"target {name}" for name in problem.names]


def calibration(
    logits: np.ndarray, labels: np.ndarray
) -> tuple[ReliabilityResult, RiskCoverageResult]:
    """Whether confidence means what it says, and what turning away the uncertain would bring."""
    log_p = log_mean_probabilities(logits)
    correct = most_probable(log_p) == labels
    bins = reliability(np.exp(log_p.max(axis=1)), correct)
    risks = risk_coverage(~correct, uncertainty(logits).total)
    shown = thinned(len(risks.risk))
    return (
        ReliabilityResult(
            edges=bins.edges.tolist(),
            count=bins.counts.tolist(),
            confidence=_without_nan(bins.confidence),
            accuracy=_without_nan(bins.accuracy),
        ),
        RiskCoverageResult(
            coverage=risks.coverage[shown].tolist(),
            risk=risks.risk[shown].tolist(),
            area=risks.area,
        ),
    )


def gallery_of(
    images: np.ndarray,
    labels: np.ndarray,
    logits: np.ndarray,
    classes: tuple[str, ...],
    count: int = 8,
) -> Gallery | None:
    """The images that the draws are most and least certain of; None for other data than images."""
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] not in (1, 3):
        return None
    p = np.exp(log_mean_probabilities(logits))
    spread = uncertainty(logits)
    order = np.argsort(spread.total, kind="stable")

    def picture(row: int) -> Picture:
        return Picture(
            row=row,
            label=int(labels[row]),
            probabilities=p[row].tolist(),
            entropy=float(spread.total[row]),
            epistemic=float(spread.epistemic[row]),
            pixels=np.ascontiguousarray(images[row]).tobytes(),
        )

    height, width, channels = images.shape[1:]
    return Gallery(
        shape=(height, width, channels),
        classes=list(classes),
        most_certain=[picture(int(row)) for row in order[:count]],
        least_certain=[picture(int(row)) for row in order[::-1][:count]],
    )


def thinned(points: int, most: int = MOST_POINTS) -> np.ndarray:
    """At most `most` of the numbers 0 .. points - 1, evenly spread, the first and last among them.

    Example:
      >>> thinned(3).tolist(), thinned(9, most=3).tolist()
      ([0, 1, 2], [0, 4, 8])
    """
    return np.unique(np.linspace(0, points - 1, min(points, most)).round().astype(int))


def _without_nan(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
