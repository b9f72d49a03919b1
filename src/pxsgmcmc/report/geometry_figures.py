"""Figures of where the draws lie: singular values, the lines between draws, a plane."""

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from matplotlib.ticker import MaxNLocator

from pxsgmcmc.report.drawing import (
    DASHED,
    Drawing,
    DrawnCurve,
    draw,
    finished,
    label_ends,
    lines,
    panel,
    scale,
    suited_scale,
    tick,
)
from pxsgmcmc.report.formatting import listed, number, percent
from pxsgmcmc.report.reported import Reported, ShownMethod
from pxsgmcmc.report.svg import INK, MUTED, PAPER
from pxsgmcmc.results import Connectivity, PlaneResult, SpectraResult


def geometry_figures(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    """All that the diagnostics allow."""
    yield from _singular_values(methods)
    yield from _factors(methods)
    yield from _connectivity(methods)
    yield from _planes(methods)


def part_of(run: Reported, name: str, kind: type) -> Any:
    """A diagnostic of a run, None if it was not made."""
    part = getattr(run.diagnostics, name) if run.diagnostics else None
    return part if isinstance(part, kind) else None


def _singular_values(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    runs = [run for m in methods for run in m.runs if _extremes(run, "largest")]
    if not runs:
        return
    single = runs[0] if len(methods) == len(runs) == 1 else None
    axes = panel("draw", "singular value", room_for_labels=single is not None)
    if single:
        for layer in part_of(single, "spectra", SpectraResult).layers.values():
            for values in (layer.largest, layer.smallest):
                faint = DrawnCurve(range(1, len(values) + 1), values)
                draw(axes, faint, methods[0].colour, linewidth=0.6, alpha=0.3)
    sentences = lines(axes, methods, lambda run: _extremes(run, "largest"))
    lines(axes, methods, lambda run: _extremes(run, "smallest"), linestyle=DASHED)
    suited_scale(axes)
    scale(axes, "x", whole=True)
    if single:
        ends = [(_extremes(single, kind)[0].y[-1], kind) for kind in ("largest", "smallest")]
        label_ends(axes, [(value, kind) for value, kind in ends if value is not None])
    faint_text = ", faint lines are those of each layer" if single else ""
    yield finished(
        axes,
        "singular-values",
        "Singular values of the layers",
        f"Solid is the largest over all layers, dashed the smallest{faint_text}: a smallest value "
        "near zero means that some layer maps directions to nothing, and a gap of more than 10⁴ "
        "that steps fit for one direction hardly move another.",
        " ".join(sentences),
    )


def _extremes(run: Reported, kind: str) -> list[DrawnCurve]:
    """The largest of the largest, or the smallest of the smallest, over the layers."""
    spectra = part_of(run, "spectra", SpectraResult)
    layers = [getattr(extremes, kind) for extremes in spectra.layers.values()] if spectra else []
    layers = [values for values in layers if values]
    if not layers:
        return []
    pick = max if kind == "largest" else min
    values = [pick(at_draw) for at_draw in zip(*layers, strict=False)]
    return [DrawnCurve(range(1, len(values) + 1), values)]


def _factors(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    """The range of every factor's singular values, narrow at the bottom; of one run a method."""
    axes = panel("singular value", "factors, widest range on top")
    sentences = []
    for method in methods:
        spectra = [f for run in method.runs if (f := part_of(run, "factors", SpectraResult))][:1]
        pairs = [
            (min(e.smallest), max(e.largest))
            for f in spectra
            for e in f.layers.values()
            if e.largest
        ]
        aside = 0.5 + 0.7 * ((method.place + 0.5) / len(methods) - 0.5)  # methods do not overlap
        pairs = sorted((p for p in pairs if p[0] > 0.0), key=lambda p: p[1] / p[0])
        for place, pair in enumerate(pairs):
            height = [(place + aside) / len(pairs)] * 2
            axes.plot(pair, height, color=method.colour, linewidth=1.1, alpha=0.8)
        if pairs:
            low, high = pairs[-1]
            sentences.append(f"{method.name}: the widest from {number(low)} to {number(high)}.")
    if not sentences:
        return
    axes.axvline(1.0, color=MUTED, linewidth=0.7)
    suited_scale(axes, "x")
    axes.set_yticks([])
    yield finished(
        axes,
        "factors",
        "Spectrum of the factors",
        "A line for each factor at the last state, from its smallest to its largest singular "
        "value: factors start at 1, a left end near zero maps some direction to nothing, and a "
        "line longer than 10⁴ is a factor that is close to losing one.",
        " ".join(sentences),
    )


def _connectivity(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    single = len(methods) == len(methods[0].runs) == 1

    def curves(run: Reported) -> list[DrawnCurve]:
        connectivity = part_of(run, "connectivity", Connectivity)
        if not connectivity or not connectivity.lines or single:
            return (
                [DrawnCurve(line.at, line.error) for line in connectivity.lines]
                if connectivity
                else []
            )
        errors = zip(*(line.error for line in connectivity.lines), strict=True)
        return [DrawnCurve(connectivity.lines[0].at, [fmean(at_point) for at_point in errors])]

    error = error_of(methods[0].runs[0].results.task)
    axes = panel("share of the way from one draw to the next", f"{error} on training data")
    if not lines(axes, methods, curves):
        return
    shares = error == "error"
    scale(axes, "y", percent=shares)
    scale(axes, "x", percent=True)
    axes.set_xlim(0.0, 1.0)
    if error != "NLL":
        axes.set_ylim(bottom=0.0)
    sentences = []
    for method in methods:
        measured = [part_of(run, "connectivity", Connectivity) for run in method.runs]
        barriers = [line.barrier for one in measured if one for line in one.lines]
        if barriers:
            barrier = percent(fmean(barriers)) if shares else number(fmean(barriers))
            sentences.append(f"{method.name}: mean barrier {barrier}.")
    how = " (thin) and on average (bold)" if single else ", averaged over the draws of a run"
    yield finished(
        axes,
        "connectivity",
        "On the way between draws",
        f"The {error} along the straight line from each draw to the next{how}: a hump is a "
        "barrier, and says that the draws lie in different basins.",
        " ".join(sentences),
    )


def error_of(task: str) -> str:
    """What the error between draws is: a share of the rows ("error"), "RMSE", or "NLL"."""
    return {"classification": "error", "regression": "RMSE"}.get(task, "NLL")


def _planes(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    """One a method: planes cannot be averaged."""
    for place, method in enumerate(methods):
        for run in method.runs:
            if plane := part_of(run, "plane", PlaneResult):
                of = f": {method.name}, seed {run.results.subject.seed}" if len(methods) > 1 else ""
                error = error_of(run.results.task)
                words = FigureWords(
                    f"plane-{place}",
                    f"The plane through three draws{of}",
                    f"Training {error} of networks on the plane through three draws, distances as "
                    "in weight space: the stronger the shade the larger it is, and an unshaded "
                    "valley is one basin.",
                )
                yield plane_figure(plane, method.colour, words, error=error)
                break


class FigureWords(NamedTuple):
    """A figure's name on its page, its title, and how to read it."""

    name: str
    title: str
    caption: str


def plane_figure(plane: PlaneResult, colour: str, words: FigureWords, *, error: str) -> Drawing:
    """Contours of the error on the plane through three draws.

    Args:
      plane: the error on its grid, and where the draws are.
      colour: of the draws.
      words: that go with it.
      error: what it is, see `error_of`.
    """
    axes = panel("", f"{error} on the plane through three draws", square=True)
    shares, height = error == "error", np.array(plane.error)
    levels = MaxNLocator(8, steps=[1, 2, 5, 10]).tick_values(height.min(), height.max())
    if height.max() > height.min():
        shades = [(INK, 0.02 + 0.5 * i / len(levels)) for i in range(len(levels) - 1)]
        axes.contourf(plane.x, plane.y, height, levels=levels, colors=shades, antialiased=False)
        contours = axes.contour(
            plane.x, plane.y, height, levels=levels[1:-1:2], colors=[INK], linewidths=0.4, alpha=0.5
        )
        axes.clabel(contours, fmt=lambda v: tick(v, percent=shares), fontsize=7.0, colors=[INK])
    for draw_number, (x, y) in zip(plane.draws, plane.points, strict=True):
        axes.plot(x, y, "o", color=colour, markersize=6.0, markeredgecolor=PAPER)
        axes.annotate(
            f"draw {draw_number}",
            (x, y),
            xytext=(0, 7),
            textcoords="offset points",
            ha="center",
            color=INK,
            fontweight="bold",
            annotation_clip=True,
        )
    axes.set_aspect("equal", adjustable="box", anchor="W")
    axes.grid(visible=False)
    for which in "xy":
        scale(axes, which)
    ends = (float(height.min()), float(height.max()))
    lowest, highest = (percent(end) if shares else number(end) for end in ends)
    return finished(
        axes,
        words.name,
        words.title,
        words.caption,
        f"The {error} goes from {lowest} to {highest}, through draws "
        f"{listed([str(index) for index in plane.draws])}.",
    )
