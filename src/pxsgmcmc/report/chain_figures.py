"""Figures of the chain itself: energy, step size, temperature, and how far draws lie apart."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from pxsgmcmc.report.drawing import (
    Drawing,
    DrawnCurve,
    draw,
    finished,
    lines,
    note,
    panel,
    scale,
    suited_scale,
)
from pxsgmcmc.report.facts import schedule, wanted_temperature
from pxsgmcmc.report.formatting import number, plain
from pxsgmcmc.report.reported import Reported, ShownMethod
from pxsgmcmc.report.svg import MUTED
from pxsgmcmc.results import DistancesResult, GroupTemperature, TemperaturesResult


def chain_figures(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    """All that the logs and the diagnostics allow."""
    yield from _energy(methods)
    yield from _step_size(methods)
    yield from _temperature(methods)
    yield from _distances(methods)


def _logged(run: Reported, *path: str) -> list[DrawnCurve]:
    """A number of the log against the step, one curve a chain."""
    curves = []
    for log in run.logs:
        points = [(line["step"], value) for line in log if (value := _at(line, path)) is not None]
        curves.append(DrawnCurve([x for x, _ in points], [y for _, y in points]))
    return curves


def _at(line: dict[str, Any], path: Sequence[str]) -> float | None:
    value: Any = line
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _energy(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    axes = panel("step", "energy U")
    sentences = lines(axes, methods, lambda run: _logged(run, "energy"), average=False)
    if not sentences:
        return
    suited_scale(axes)
    scale(axes, "x", whole=True)
    yield finished(
        axes,
        "energy",
        "Energy",
        "Mean energy in each stretch of steps, estimated on mini-batches: from wherever it "
        "starts it should come to a level; one that still drifts means a chain on its way.",
        " ".join(sentences),
    )


def _step_size(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    axes = panel("step", "step size")
    sentences, planned = [], False
    for method in methods:
        curves = [c for run in method.runs for c in _logged(run, "step_size") if c.x]
        last = max((curve.x[-1] for curve in curves), default=0)
        if plan := schedule(method.runs[0].manifest, int(last)):
            draw(axes, DrawnCurve(*plan), method.colour, linewidth=0.7, alpha=0.7)
            planned = True
        dots = {"linestyle": "none", "marker": "o", "markersize": 1.8, "markeredgewidth": 0.0}
        for curve in curves:
            draw(axes, curve, method.colour, **dots)
            sentences.append(f"{method.name}: {number(curve.y[-1])} at the end.")
    if not sentences:
        return
    scale(axes, "y")
    axes.set_ylim(bottom=0.0)
    scale(axes, "x", whole=True)
    line = "the line is the schedule" if planned else "joined they are the schedule"
    yield finished(
        axes,
        "step-size",
        "Step size",
        f"Dots are the step size at the end of each stretch in the log, {line}; draws are taken "
        "where a cycle has brought it down.",
        " ".join(dict.fromkeys(sentences)),
    )


def _temperature(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    groups = dict.fromkeys(
        group
        for method in methods
        for run in method.runs
        for log in run.logs
        for line in log
        for group in line.get("temperature") or {}
    )
    for place, group in enumerate(groups):
        axes = panel("step", f"kinetic temperature, {plain(group, 24)}")
        sentences = lines(axes, methods, lambda run, g=group: _logged(run, "temperature", g))
        bands = [(m, b) for m in methods if (b := _band(m, group))]
        for method, band in bands:
            axes.axhspan(band.low, band.high, color=method.colour, alpha=0.18, linewidth=0.0)
        levels = [(m, level) for m in methods if (level := _level(m, group)) is not None]
        alike = len({level for _, level in levels}) == 1
        for method, level in levels[:1] if alike else levels:
            axes.axhline(level, color=MUTED if alike else method.colour, linewidth=0.7)
        suited_scale(axes)
        scale(axes, "x", whole=True)
        if bands:
            target = (
                "it should settle at the thin line, which is what steps as large as those of the "
                "last cycle make of the temperature asked for, and its mean over that cycle should "
                "lie in the shaded band"
            )
        else:
            line = " near the thin line, the temperature asked for" if levels else ""
            target = (
                f"it should settle{line}, and `pxsgmcmc diagnose` adds the band in which it should "
                "lie"
            )
        yield finished(
            axes,
            f"temperature-{place}",
            f"Kinetic temperature of {plain(group, 40)}",
            f"Mean square of the momentum: {target}; "
            "above, the step is too large or the gradient too noisy; below, it still warms up.",
            " ".join(sentences),
        )


def _level(method: ShownMethod, group: str) -> float | None:
    """Where the temperature should settle: as diagnosed, or else as the sampler was asked to."""
    if band := _band(method, group):
        return band.expected
    return wanted_temperature(method.runs[0].manifest)


def _band(method: ShownMethod, group: str) -> GroupTemperature | None:
    for run in method.runs:
        temperatures = run.diagnostics.temperatures if run.diagnostics else None
        if isinstance(temperatures, TemperaturesResult) and group in temperatures.kinetic:
            return temperatures.kinetic[group]
    return None


class _Distance(NamedTuple):
    key: str
    axis: str
    title: str
    caption: str


_KINDS = (
    _Distance(
        "d",
        "distance d",
        "Distance between draws",
        "Euclidean distance of each draw from the one before it, in the weights the network uses: "
        "larger means that the chain moves further between draws.",
    ),
    _Distance(
        "d_bar",
        "relative distance d̄",
        "Relative distance between draws",
        "The same distance as a share of the draw's norm: independent draws of equal norm lie at "
        "√2 (the line), draws that hardly move near 0.",
    ),
)


def _distances(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    for kind in _KINDS:

        def curves(run: Reported, key: str = kind.key) -> list[DrawnCurve]:
            distances = run.diagnostics.distances if run.diagnostics else None
            chains = getattr(distances, key) if isinstance(distances, DistancesResult) else []
            return [DrawnCurve(range(2, len(chain) + 2), chain) for chain in chains]

        axes = panel("draw", kind.axis)
        sentences = lines(axes, methods, curves)
        if not sentences:
            continue
        if kind.key == "d_bar":
            axes.axhline(math.sqrt(2.0), color=MUTED, linewidth=0.7)
            note(axes, 0.99, _height(axes, math.sqrt(2.0)), "independent", ha="right", va="bottom")
        scale(axes, "y")
        axes.set_ylim(bottom=0.0)
        scale(axes, "x", whole=True)
        yield finished(
            axes,
            f"distance-{kind.key.replace('_', '-')}",
            kind.title,
            kind.caption,
            " ".join(sentences),
        )


def _height(axes: Any, y: float) -> float:
    """Where a value lies between the bottom, at 0, and the top."""
    axes.set_ylim(0.0, max(1.5, float(np.max(axes.get_ylim()))))
    return y / axes.get_ylim()[1]
