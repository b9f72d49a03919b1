"""Figures of a regression: bands over an input, predicted against observed, calibration."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from pxsgmcmc.report.drawing import (
    DASHED,
    Drawing,
    DrawnCurve,
    draw,
    finished,
    lines,
    panel,
    scale,
)
from pxsgmcmc.report.formatting import metric_value, number, plain
from pxsgmcmc.report.reported import Reported, ShownMethod
from pxsgmcmc.report.svg import INK, MUTED
from pxsgmcmc.results import Band, Regression

_MOST_TARGETS = 3  # more would be a wall of figures
_BANDS = (("0.05", "0.95", 0.16), ("0.25", "0.75", 0.26))  # quantiles, strength of the colour


class _Of(NamedTuple):
    """What one method's first run found, for figures that cannot be averaged."""

    method: ShownMethod
    regression: Regression


def regression_figures(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    """All that the results allow; nothing for a classification."""
    known = [_Of(m, regression) for m in methods if (regression := m.runs[0].results.regression)]
    if not known:
        return
    targets = known[0].regression.targets[:_MOST_TARGETS]
    for place, target in enumerate(targets):
        yield from _bands(known, target, place)
    for place, target in enumerate(targets):
        yield from _observed(known, target, place)
    yield from _transform(known)
    yield from _coverage(methods)
    for place, target in enumerate(targets):
        yield from _spread(methods, target, place)


def _title(text: str, target: str, of: Sequence[_Of]) -> str:
    """With the target's name where there are several."""
    return f"{text}: {plain(target, 40)}" if len(of[0].regression.targets) > 1 else text


def _bands(known: Sequence[_Of], target: str, place: int) -> Iterator[Drawing]:
    ends = {level for low, high, _ in _BANDS for level in (low, high)}
    bands = [
        (of, band)
        for of in known
        for band in of.regression.bands
        if band.target == target and ends <= set(band.quantiles)
    ]
    if not bands:
        return
    axes = panel("input", plain(target, 40))
    look: Any = {"color": MUTED, "alpha": 0.6, "markersize": 2.2, "markeredgewidth": 0.0}
    axes.plot(bands[0][1].train_x, bands[0][1].train_y, "o", **look)
    descriptions = []
    for of, band in bands:
        _fill(axes, band, of.method.colour)
        draw(axes, DrawnCurve(band.x, band.mean), of.method.colour, linewidth=1.4, marker="")
        widths = np.subtract(band.quantiles["0.95"], band.quantiles["0.05"])
        descriptions.append(
            f"{of.method.name}: the 90% band is {number(widths.min())} to {number(widths.max())} "
            "wide."
        )
    for which in "xy":
        scale(axes, which)
    axes.margins(x=0.01)
    yield finished(
        axes,
        f"bands-{place}",
        _title("Bands over the input", target, known),
        "The line is the predictive mean, the dark band holds the middle half of the predictive "
        "distribution, the light one 90%, and dots are training data: bands should widen where "
        "there are none.",
        " ".join(descriptions),
    )


def _fill(axes: Axes, band: Band, colour: str) -> None:
    for low, high, alpha in _BANDS:
        ends = band.quantiles[low], band.quantiles[high]
        axes.fill_between(band.x, *ends, color=colour, alpha=alpha, linewidth=0.0)


def _observed(known: Sequence[_Of], target: str, place: int) -> Iterator[Drawing]:
    axes = panel(f"predicted {plain(target, 24)}", f"observed {plain(target, 24)}", square=True)
    descriptions = []
    for of in known:
        points = _at(of.regression.points, of.regression, target)
        pairs = zip(points.predicted, points.observed, strict=True) if points else ()
        dots = np.array([pair for pair in pairs if None not in pair])
        if dots.size:
            look: Any = {"alpha": 0.55, "markersize": 2.8, "markeredgewidth": 0.0}
            axes.plot(dots[:, 0], dots[:, 1], "o", color=of.method.colour, **look)
            rmse = of.method.runs[0].results.test.metrics.get("rmse")
            descriptions.append(f"{of.method.name}: {len(dots)} rows, RMSE {number(rmse)}.")
    if not descriptions:
        return
    _diagonal(axes)
    yield finished(
        axes,
        f"observed-{place}",
        _title("Predicted and observed", target, known),
        "Each dot is a test row, its predictive mean against what was observed: on the diagonal "
        "the prediction is right, and a cloud that is tilted against it errs in one direction.",
        " ".join(descriptions),
    )


def _diagonal(axes: Axes, low: float | None = None) -> None:
    """One range for both axes, from `low` if given, and the line on which they are equal."""
    low = min(axes.get_xlim()[0], axes.get_ylim()[0]) if low is None else low
    high = max(axes.get_xlim()[1], axes.get_ylim()[1])
    axes.plot([low, high], [low, high], color=MUTED, linewidth=0.7, linestyle=DASHED)
    axes.set(xlim=(low, high), ylim=(low, high))
    for which in "xy":
        scale(axes, which)


def _transform(known: Sequence[_Of]) -> Iterator[Drawing]:
    axes = panel("F(y) of what was observed", "rows in a bin, 1 if all are alike")
    descriptions = []
    # Counts of a bin are binomial where predictions are right, but those of several targets are
    # not independent: they have no band of chance.
    chance = len(known) == 1 and len(known[0].regression.targets) == 1
    for of in known:
        counts = np.array(of.regression.pit_counts, float)
        if not counts.sum():
            continue
        height = counts * len(counts) / counts.sum()
        edges = of.regression.pit_edges
        if len(known) == 1:
            axes.stairs(height, edges, fill=True, color=of.method.colour, alpha=0.3)
        if chance:
            reach = 1.96 * math.sqrt((len(counts) - 1.0) / counts.sum())
            axes.axhspan(max(0.0, 1.0 - reach), 1.0 + reach, color=INK, alpha=0.08, linewidth=0.0)
        axes.stairs(height, edges, color=of.method.colour, linewidth=1.2)
        ends = (counts[0] + counts[-1]) / counts.sum() * len(counts) / 2
        descriptions.append(
            f"{of.method.name}: the outermost bins are {number(ends, 2)} times as full."
        )
    if not descriptions:
        return
    axes.axhline(1.0, color=MUTED, linewidth=0.7)
    for which in "xy":
        scale(axes, which)
    axes.set_ylim(bottom=0.0)
    axes.set_xlim(0.0, 1.0)
    band = ", the grey band is chance" if chance else ""
    yield finished(
        axes,
        "pit",
        "Where the observed values fall",
        "Histogram of the predictive probability below each observed value (PIT): flat is right"
        f"{band}, full at both ends is too narrow, full in the middle too wide, leaning is biased.",
        " ".join(descriptions),
    )


def _coverage(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    def curve(run: Reported) -> list[DrawnCurve]:
        if not (regression := run.results.regression):
            return []
        return [DrawnCurve([0.0, *regression.nominal, 1.0], [0.0, *regression.coverage, 1.0])]

    axes = panel("probability of the interval", "share of observed values inside", square=True)
    axes.plot([0.0, 1.0], [0.0, 1.0], color=MUTED, linewidth=0.7, linestyle=DASHED)
    if not lines(axes, methods, curve):
        return
    for which in "xy":
        scale(axes, which, percent=True)
    axes.set(xlim=(-0.01, 1.02), ylim=(-0.01, 1.02))
    shares = [(m.name, m.runs[0].results.test.metrics.get("coverage90")) for m in methods]
    yield finished(
        axes,
        "coverage",
        "Coverage of intervals",
        "How many observed values central intervals hold, against the probability they claim: "
        "below the diagonal intervals are too narrow, above it too wide.",
        " ".join(f"{n}: {metric_value('coverage90', s)} within 90% intervals." for n, s in shares),
    )


def _spread(methods: Sequence[ShownMethod], target: str, place: int) -> Iterator[Drawing]:
    def curve(run: Reported) -> list[DrawnCurve]:
        regression = run.results.regression
        bins = _at(regression.spread, regression, target) if regression else None
        if bins is None or None in (*bins.std, *bins.rmse):
            return []
        return [DrawnCurve(bins.std, bins.rmse)]

    axes = panel("predicted standard deviation", "RMSE among such rows", square=True)
    descriptions = lines(axes, methods, curve, average=False)
    if not descriptions:
        return
    known = [_Of(m, regression) for m in methods if (regression := m.runs[0].results.regression)]
    for line in axes.get_lines():
        line.set(marker="o", markersize=3.2, markeredgewidth=0.0)
    _diagonal(axes, 0.0)
    yield finished(
        axes,
        f"spread-{place}",
        _title("Error against predicted spread", target, known),
        "Test rows in bins of like predicted spread: where dots follow the diagonal, the spread "
        "says how large the error will be; above it predictions are too sure of themselves.",
        " ".join(descriptions),
    )


def _at(parts: Sequence[Any], regression: Regression, target: str) -> Any:
    """The part that belongs to a target, None where there is none."""
    place = regression.targets.index(target) if target in regression.targets else len(parts)
    return parts[place] if place < len(parts) else None
