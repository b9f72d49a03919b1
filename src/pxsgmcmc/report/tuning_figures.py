"""Figures of a search over settings: scores by setting and by time, and which settings mattered."""

import statistics
from collections.abc import Iterator
from typing import Any

from matplotlib.axes import Axes

from pxsgmcmc.report.drawing import Drawing, finished, panel, scale
from pxsgmcmc.report.formatting import count, number, plain
from pxsgmcmc.report.svg import INK, MUTED, PAPER, SERIES
from pxsgmcmc.results import SearchRange, Trial, Tuning

GOOD, BAD = SERIES[0], SERIES[1]
_TALLEST = 3.0  # how far above the best the panel reaches, in medians of what trials are above it


def setting_figures(tuning: Tuning) -> Iterator[Drawing]:
    """A panel for each setting, the score of every trial against its value."""
    ceiling = _ceiling(tuning)
    if ceiling is None:
        return
    for place, searched in enumerate(tuning.ranges):
        axes = panel(searched.name, "validation NLL")
        for trial in tuning.trials:
            _mark(axes, tuning, trial, trial.settings[searched.name], ceiling)
        _limits(axes, ceiling)
        _range_limits(axes, searched)
        yield finished(
            axes,
            f"setting-{place}",
            plain(searched.name, 60),
            _in_range(searched),
            _said(tuning, searched),
        )


def frontier_figure(tuning: Tuning) -> Iterator[Drawing]:
    """Scores against the time they took, with the best that could be had by each time."""
    ceiling = _ceiling(tuning)
    if ceiling is None:
        return
    axes = panel("seconds of a trial", "validation NLL")
    for trial in tuning.trials:
        healthy = [score for score in trial.scores if score.is_cool]
        if len(healthy) > 1:
            x, y = [s.seconds for s in healthy], [min(s.nll or 0.0, ceiling[1]) for s in healthy]
            axes.plot(x, y, color=MUTED, linewidth=0.6)
        if trial.scores:
            _mark(axes, tuning, trial, trial.scores[-1].seconds, ceiling)
    steps = _frontier(tuning)
    if steps:
        x, y = zip(*steps, strict=True)
        axes.step([*x, max(t.seconds for t in tuning.trials)], [*y, y[-1]], where="post",
                  color=INK, linewidth=1.2)  # fmt: skip
    _limits(axes, ceiling)
    seconds = [trial.seconds for trial in tuning.trials if trial.scores]
    scale(axes, "x", log=max(seconds) > 30.0 * max(min(seconds), 0.1))
    ends = f"from {number(steps[0][1])} to {number(steps[-1][1])}" if steps else "no healthy trial"
    yield finished(
        axes,
        "frontier",
        "Score against time",
        "The step line is the best score that a healthy trial had after so many seconds; a thin "
        "line is a trial that was extended.",
        f"Best score {ends}.",
    )


def mattered_figure(tuning: Tuning) -> Iterator[Drawing]:
    """Bars of the variance that goes with each setting."""
    if not tuning.mattered:
        return
    axes = panel("share of the variance of scores", "")
    shares = sorted(tuning.mattered.items(), key=lambda item: item[1])
    axes.barh(range(len(shares)), [share for _, share in shares], height=0.35, color=GOOD)
    axes.set_yticks([])
    axes.set_ylim(-0.5, len(shares))
    axes.set_xlim(0.0, max(1.0, shares[-1][1]))
    axes.grid(False)
    for place, (name, share) in enumerate(shares):
        axes.text(0.0, place + 0.26, f"{plain(name, 40)}  {share:.0%}", color=INK, fontsize=8.0)
    scale(axes, "x", percent=True)
    if tuning.mattered_by == "fANOVA":
        how = "By fANOVA on a forest fitted to the first scores"
    else:
        how = "Between thirds of the tried values, what chance would show taken off"
    yield finished(
        axes,
        "mattered",
        "Which settings mattered",
        f"{how}; with few trials a rough guide only.",
        " ".join(f"{name} {share:.0%}." for name, share in reversed(shares)),
    )


def _mark(axes: Axes, tuning: Tuning, trial: Trial, x: float, ceiling: tuple[float, float]) -> None:
    """One trial: filled if whole, open if stopped early, a cross if not healthy."""
    top = ceiling[1]
    nll = trial.scores[-1].nll if trial.scores and not trial.diverged else None
    state = tuning.state_of(trial)
    chosen = trial.number == tuning.chosen
    y = top if nll is None or nll > top else nll
    if chosen:
        axes.plot([x], [y], "o", markersize=9.0, markerfacecolor="none", markeredgecolor=INK)
    look: dict[str, Any]
    if state in ("diverged", "no score"):
        look = {"marker": "^", "color": BAD}
    elif state in ("off temperature", "not settled"):
        look = {"marker": "x", "color": BAD}
    elif state == "whole":
        look = {"marker": "o", "color": GOOD, "markeredgewidth": 0.0}
    else:
        look = {"marker": "o", "markerfacecolor": PAPER, "markeredgecolor": GOOD}
    axes.plot([x], [y], linestyle="none", markersize=5.0 if chosen else 4.0, **look)


def _ceiling(tuning: Tuning) -> tuple[float, float] | None:
    """The lowest score and the height to which scores are drawn; None if there are none."""
    scores = [t.scores[-1].nll for t in tuning.trials if t.scores and not t.diverged]
    known = sorted(nll for nll in scores if nll is not None)
    if not known:
        return None
    above = [nll - known[0] for nll in known[1:]] or [abs(known[0]) or 1.0]
    reach = _TALLEST * statistics.median(above) or abs(known[0]) or 1.0
    return known[0], min(known[0] + reach, known[-1]) if len(known) > 1 else known[0] + reach


def _limits(axes: Axes, ceiling: tuple[float, float]) -> None:
    low, high = ceiling
    axes.set_ylim(low - 0.08 * (high - low), high + 0.08 * (high - low))
    scale(axes, "y")


def _range_limits(axes: Axes, searched: SearchRange) -> None:
    scale(axes, "x", log=searched.log, whole=searched.whole)
    if searched.log:
        room = (searched.high / searched.low) ** 0.05
        axes.set_xlim(searched.low / room, searched.high * room)
        scale(axes, "x", log=True)
    for bound in {*searched.first} - {searched.low, searched.high}:
        axes.axvline(bound, color=MUTED, linewidth=0.6, linestyle=(0, (2.0, 2.0)))


def _in_range(searched: SearchRange) -> str:
    words = f"Searched from {searched.low:.3g} to {searched.high:.3g}"
    low, high = searched.first
    if (low, high) != (searched.low, searched.high):
        words += f", at first from {low:.3g} to {high:.3g} (dashed)"
    return f"{words}; the search began at {searched.start:.3g}."


def _said(tuning: Tuning, searched: SearchRange) -> str:
    trials = count(len(tuning.trials), "trial")
    if tuning.best is None:
        return f"{trials}, none chosen."
    return f"{trials}; the chosen one has {tuning.best.settings[searched.name]:g}."


def _frontier(tuning: Tuning) -> list[tuple[float, float]]:
    """(seconds, score) of healthy scores that nothing sooner beats."""
    scores = [s for t in tuning.trials for s in t.scores if s.is_fit and s.nll is not None]
    points: list[tuple[float, float]] = []
    for score in sorted(scores, key=lambda s: (s.seconds, s.nll)):
        assert score.nll is not None
        if not points or score.nll < points[-1][1]:
            points.append((score.seconds, score.nll))
    return points
