"""From the logits of all draws to the parts of `results.json`."""

import numpy as np

from pxsgmcmc.evaluation.tally import tally
from pxsgmcmc.metrics import (
    log_mean_probabilities,
    measure_by_burn_in,
    measure_by_draws,
    most_probable,
    reliability,
    risk_coverage,
    uncertainty,
)
from pxsgmcmc.metrics.classification import measure_windows
from pxsgmcmc.metrics.windows import sliding
from pxsgmcmc.results import Curve, Gallery, Picture, Reliability, RiskCoverage, Split

MOST_POINTS = 200  # of a curve
WIDEST = 50  # draws in a window of the burn-in curve, as in the published figure


def split_of(logits: np.ndarray, labels: np.ndarray) -> Split:
    """All draws together, and each alone."""
    alone = measure_windows(logits, labels, ["err", "nll"], sliding(len(logits), 1))
    return Split(
        rows=len(labels),
        metrics=tally(logits, labels).metrics(),
        by_draw={name: values.tolist() for name, values in alone.items()},
    )


def curve_by_draws(logits: np.ndarray, labels: np.ndarray) -> Curve:
    """Metrics of the first 1, 2, ... draws."""
    counts = thinned(len(logits)) + 1
    found = measure_by_draws(logits, labels, ["err", "nll", "ece", "brier"], counts)
    return Curve(at=counts.tolist(), values={n: v.tolist() for n, v in found.items()})


def curve_by_burn_in(logits: np.ndarray, labels: np.ndarray) -> Curve | None:
    """Metrics of a window of half the draws, against the draws before it; None for one draw.

    The window holds as many draws as there are, less the last of `at`.
    """
    if len(logits) < 2:
        return None
    width = min(WIDEST, len(logits) // 2)
    found = measure_by_burn_in(logits, labels, ["nll", "err"], width)
    shown = thinned(len(logits) - width + 1)
    values = {}
    for name, curve in found.items():
        values[f"individual_{name}"] = curve.individual[shown].tolist()
        values[f"ensemble_{name}"] = curve.ensemble[shown].tolist()
    return Curve(at=shown.tolist(), values=values)


def calibration(logits: np.ndarray, labels: np.ndarray) -> tuple[Reliability, RiskCoverage]:
    """Whether confidence means what it says, and what turning away the uncertain would bring."""
    log_p = log_mean_probabilities(logits)
    correct = most_probable(log_p) == labels
    bins = reliability(np.exp(log_p.max(axis=1)), correct)
    risks = risk_coverage(~correct, uncertainty(logits).total)
    shown = thinned(len(risks.risk))
    return (
        Reliability(
            edges=bins.edges.tolist(),
            count=bins.counts.tolist(),
            confidence=_without_nan(bins.confidence),
            accuracy=_without_nan(bins.accuracy),
        ),
        RiskCoverage(
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
    found = uncertainty(logits)
    order = np.argsort(found.total, kind="stable")

    def picture(row: int) -> Picture:
        return Picture(
            row=row,
            label=int(labels[row]),
            probabilities=p[row].tolist(),
            entropy=float(found.total[row]),
            epistemic=float(found.epistemic[row]),
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
