"""Successive halving over draws: which trials are made longer, as a pure function of scores.

Every trial is first run to a ninth of its draws. Of all trials that got so far, the best third is
extended to a third of the draws, and of those the best third to all of them (Li and others, 2020).
A trial is a run directory, so nothing is sampled twice. Only trials of full length can win.

Health comes before the score. A chain that is too hot is not extended; one that has not settled may
be, since it may settle, but cannot win.
"""

import math
from collections.abc import Iterable, Sequence

from pxsgmcmc.results import Trial

KEPT = 3  # one in so many is extended
FEWEST = 3  # draws of the first comparison


def lengths_of(draws: int) -> list[int]:
    """Draws at which trials are compared, the full number last.

    Example:
      >>> lengths_of(40), lengths_of(20), lengths_of(5)
      ([5, 14, 40], [3, 7, 20], [5])
    """
    shorter = [math.ceil(draws / KEPT**power) for power in (2, 1)]
    return [*(length for length in shorter if FEWEST <= length < draws), draws]


def order(trial: Trial, place: int) -> tuple[int, float]:
    """Sorts trials at one length: healthy ones by score, then the others by how far off they are.

    Args:
      trial: that has a score there, or diverged.
      place: of the length.
    """
    if len(trial.scores) <= place:
        return (2, 0.0)
    score = trial.scores[place]
    if score.is_cool:
        assert score.nll is not None
        return (0, score.nll)
    return (1, score.too_hot if score.too_hot is not None and score.nll is not None else math.inf)


def promotions(trials: Sequence[Trial], lengths: Sequence[int]) -> list[int]:
    """Numbers of the trials to be extended to their next length, the longest first."""
    found = []
    for place in reversed(range(len(lengths) - 1)):
        there = [trial for trial in trials if len(trial.scores) + trial.diverged > place]
        leaders = sorted(there, key=lambda trial: order(trial, place))[: len(there) // KEPT]
        found += [trial.number for trial in leaders if _waits(trial, place)]
    return found


def last_resort(trials: Sequence[Trial], lengths: Sequence[int]) -> list[int]:
    """The trial to be extended when nothing else is left to do and none has won."""
    if winner(trials, lengths) is not None:
        return []
    for place in reversed(range(len(lengths) - 1)):
        waiting = [trial for trial in trials if _waits(trial, place)]
        if waiting:
            return [min(waiting, key=lambda trial: order(trial, place)).number]
    return []


def winner(trials: Iterable[Trial], lengths: Sequence[int]) -> Trial | None:
    """The best healthy trial of full length."""
    whole = [trial for trial in trials if len(trial.scores) == len(lengths) and not trial.diverged]
    fit = [trial for trial in whole if trial.scores[-1].is_fit]
    return min(fit, key=lambda trial: trial.scores[-1].nll or 0.0, default=None)


def leader(trials: Sequence[Trial], lengths: Sequence[int]) -> Trial | None:
    """The winner so far; before there is one, the best of those that got furthest."""
    won = winner(trials, lengths)
    for place in reversed(range(len(lengths))):
        there = [t for t in trials if len(t.scores) == place + 1 and t.scores[place].is_cool]
        if won is None and there:
            return min(there, key=lambda trial: order(trial, place))
    return won


def _waits(trial: Trial, place: int) -> bool:
    """Whether it stopped at this length, and could go on."""
    at = len(trial.scores) == place + 1 == trial.wanted
    return at and not trial.diverged and trial.scores[place].is_cool
