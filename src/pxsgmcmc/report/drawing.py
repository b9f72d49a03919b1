"""The look of every figure: one size, quiet axes, lines by method, labels at their ends.

A figure is as wide as a phone, so that its type is the same size on every screen; a page sets
several side by side. Colour tells methods apart, line style what else is in a figure.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from pxsgmcmc.report.formatting import minus, number, power
from pxsgmcmc.report.reported import Reported, ShownMethod
from pxsgmcmc.report.svg import INK, MUTED, RULE, SETTINGS, to_svg

SOLID, DASHED = "-", (0, (3.5, 2.0))
_WIDTH, _HEIGHT = 270.0, 186.0  # points
_LEFT, _BOTTOM, _TOP = 38.0, 31.0, 20.0
_MOST_POINTS = 400


class Drawing(NamedTuple):
    """A figure, ready for the page."""

    title: str
    caption: str  # how to read it, in one sentence
    svg: str
    name: str  # a word of letters, digits and "-"
    axes: Axes  # in stand-in colours, see `pxsgmcmc.report.plots`


class DrawnCurve(NamedTuple):
    """Points to be joined."""

    x: Sequence[float]
    y: Sequence[float | None]


def style() -> AbstractContextManager[None]:
    """What all figures are drawn under, whatever the user's own settings of matplotlib."""
    return matplotlib.style.context(SETTINGS, after_reset=True)


def panel(x: str, y: str, *, room_for_labels: bool = False, square: bool = False) -> Axes:
    """Empty axes with a name below and a name above, `square` for two axes of one kind."""
    height = 250.0 if square else _HEIGHT
    right = 54.0 if room_for_labels else 15.0
    figure = Figure(figsize=(_WIDTH / 72.0, height / 72.0))
    width = _WIDTH - _LEFT - right
    box = (_LEFT / _WIDTH, _BOTTOM / height, width / _WIDTH, (height - _BOTTOM - _TOP) / height)
    axes = figure.add_axes(box)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set(color=MUTED, linewidth=0.6)
    axes.tick_params(axis="x", color=MUTED, labelcolor=MUTED, length=2.5, width=0.6, pad=2)
    axes.tick_params(axis="y", labelcolor=MUTED, length=0, pad=3)
    axes.tick_params(which="minor", length=0)
    axes.set_axisbelow(True)
    axes.grid(axis="y", color=RULE, linewidth=0.6)
    axes.set_xlabel(x, color=INK, labelpad=3)
    axes.set_title(y, loc="left", x=-_LEFT / width + 0.01, color=INK, fontsize=8.0, pad=7)
    return axes


def finished(axes: Axes, name: str, title: str, caption: str, label: str) -> Drawing:
    """The panel as it goes into the page; `label` says in words what can be seen."""
    figure = axes.figure
    assert isinstance(figure, Figure)
    svg = to_svg(figure, name, f"{title}. {label}")
    return Drawing(title, caption, svg, name, axes)


def lines(
    axes: Axes,
    methods: Sequence[ShownMethod],
    read: Callable[[Reported], Sequence[DrawnCurve]],
    *,
    linestyle: Any = SOLID,
    average: bool = True,
) -> list[str]:
    """A line for each curve of each run, their mean in bold; returns what they show, in words."""
    sentences = []
    for method in methods:
        curves = [curve for run in method.runs for curve in read(run) if len(curve.x)]
        if not curves:
            continue
        alone = len(curves) == 1
        weak = {"linewidth": 1.3, "alpha": 1.0} if alone else {"linewidth": 0.6, "alpha": 0.55}
        for curve in curves:
            draw(axes, curve, method.colour, linestyle=linestyle, **weak)
        middle = curves[0]
        if not alone and average and all(list(c.x) == list(middle.x) for c in curves):
            y = np.array([_floats(c.y) for c in curves])
            known = np.isfinite(y)
            total, many = np.where(known, y, 0.0).sum(axis=0), known.sum(axis=0)
            mean = np.where(many > 0, total / np.maximum(many, 1), math.nan)
            middle = DrawnCurve(middle.x, mean.tolist())
            draw(axes, middle, method.colour, linestyle=linestyle, linewidth=1.7)
        sentences.append(_in_words(method.name, middle))
    return sentences


def draw(axes: Axes, curve: DrawnCurve, colour: str, **look: Any) -> None:
    """One line, thinned to what a screen can show; a few points are marked."""
    x, y = _floats(curve.x), _floats(curve.y)
    if len(x) > _MOST_POINTS:
        kept = np.linspace(0, len(x) - 1, _MOST_POINTS).round().astype(int)
        x, y = x[kept], y[kept]
    marked = {"marker": "o", "markersize": 2.8, "markeredgewidth": 0.0} if len(x) <= 12 else {}
    axes.plot(x, y, color=colour, solid_capstyle="round", **(marked | look))


def _floats(values: Sequence[float | None]) -> np.ndarray:
    return np.array([math.nan if v is None else v for v in values], float)


def _in_words(name: str, curve: DrawnCurve) -> str:
    known = [v for v in curve.y if v is not None and math.isfinite(v)]
    return f"{name}: from {number(known[0])} to {number(known[-1])}." if known else f"{name}: none."


def scale(
    axes: Axes, which: str, *, log: bool = False, percent: bool = False, whole: bool = False
) -> None:
    """Round ticks with plain numbers, on a linear or a logarithmic axis."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    if log:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
        subs = (1.0, 2.0, 5.0) if high / low < 120.0 else (1.0,)
        axis.set_major_locator(LogLocator(subs=subs, numticks=7))
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
    else:
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10], integer=whole))
    axis.set_major_formatter(FuncFormatter(lambda v, _: tick(v, percent=percent)))


def suited_scale(axes: Axes, which: str = "y", *, percent: bool = False) -> None:
    """Logarithmic where positive values span more than a factor of 30."""
    column = "xy".index(which)
    drawn = [np.asarray(line.get_xydata(), float)[:, column] for line in axes.get_lines()]
    values = np.concatenate(drawn) if drawn else np.ones(1)
    values = values[np.isfinite(values)]
    wide = values.size > 0 and values.min() > 0.0 and values.max() / values.min() > 30.0
    scale(axes, which, log=wide, percent=percent)


def tick(value: float, *, percent: bool = False) -> str:
    """A round number, short.

    Example:
      >>> tick(0.1 + 0.2), tick(25000), tick(2e-4), tick(0.05, percent=True)
      ('0.3', '25k', '2·10⁻⁴', '5%')
    """
    if percent:
        return minus(f"{100.0 * value:.4g}%")
    size = abs(value)
    if size >= 1e9 or 0.0 < size < 1e-3:
        return power(value).replace(" × ", "·")
    if size >= 1e6:
        return minus(f"{value / 1e6:.6g}M")
    return minus(f"{value / 1e3:.6g}k" if size >= 1e4 else f"{value:,.6g}")


def label_ends(axes: Axes, labels: Sequence[tuple[float, str]]) -> None:
    """Names to the right of lines that end at these heights, moved apart where they would touch."""
    gap = 0.085
    axes.get_ylim()  # settles the limits, which matplotlib leaves until they are asked for
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = [(float(to_axes.transform((0.0, y))[1]), text) for y, text in labels if _drawable(y)]
    below = -math.inf
    placed = []
    for height, text in sorted(ends):
        below = max(height, below + gap)
        placed.append((below, text))
    above = 1.0 + gap
    for height, text in reversed(placed):
        above = min(height, above - gap)
        note(axes, 1.02, above, text, va="center")


def _drawable(y: float | None) -> bool:
    return y is not None and math.isfinite(y)


def note(axes: Axes, x: float, y: float, text: str, colour: str = MUTED, **look: Any) -> None:
    """Words at a place of the panel, (0, 0) to (1, 1)."""
    axes.text(x, y, text, transform=axes.transAxes, color=colour, fontsize=8.0, **look)
