"""How a search begins: its limits, who proposes, and where it starts; or the one that was begun."""

import math
import numbers
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from pxsgmcmc.config import Config, write_config
from pxsgmcmc.errors import UserError, check_count, one_line
from pxsgmcmc.problem import Problem
from pxsgmcmc.progress import clock
from pxsgmcmc.results import SearchRange, Tuning
from pxsgmcmc.tuning.halving import lengths_of
from pxsgmcmc.tuning.optuna_search import Tpe, is_installed
from pxsgmcmc.tuning.proposals import BestFirst, Proposer
from pxsgmcmc.tuning.space import (
    Asked,
    check_bounds,
    check_names,
    search_ranges,
    value_of,
    with_values,
)
from pxsgmcmc.tuning.trial_book import TrialBook
from pxsgmcmc.tuning.trial_loop import Limits, steps_of

TRIALS = 24  # unless told
MOST_TRIALS = 1000  # within a budget of time
SEARCHES = ("auto", "tpe", "best-first")
Say = Callable[[str], None]


def limits_of(trials: int | None, budget: float | None) -> Limits:
    """When the search is over; `budget` in seconds."""
    if trials is not None:
        check_count("trials", trials, at_least=1)
    if budget is None:
        return Limits(TRIALS if trials is None else trials)
    number = isinstance(budget, numbers.Real) and not isinstance(budget, bool)
    if not number or not (budget > 0.0 and math.isfinite(budget)):
        raise UserError(f"`budget` must be a time above 0 in seconds, got {one_line(budget)}.")
    return Limits(MOST_TRIALS if trials is None else trials, budget)


def proposer_named(search: str, folder: Path, seed: int, say: Say) -> Proposer:
    """Who proposes; a search that has begun goes on with its own."""
    if search not in SEARCHES:
        raise UserError(f"`search` must be one of {', '.join(SEARCHES)}, got {search!r}.")
    book = TrialBook.read(folder)
    if search == "auto" and book is not None:
        search = book.tuning.search
    if search == "auto" and not is_installed():
        say("Optuna is not installed: the built-in best-first search is used instead")
        search = "best-first"
    return BestFirst() if search == "best-first" else Tpe(folder, seed)


def with_kept(config: Config, asked: Asked) -> Config:
    """The configuration with the settings that are to have a given value."""
    kept = {
        name: value
        for name, value in asked.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    return with_values(config, kept) if kept else config


def begin(
    folder: Path,
    config: Config,
    asked: Asked,
    proposer: Proposer,
    limits: Limits,
    problem: Problem | None,
    say: Say,
) -> TrialBook:
    """The search in the folder, or a new one that starts where the pilot says.

    Args:
      folder: of the search.
      config: what is tuned.
      asked: ranges that were given.
      proposer: who says what to try.
      limits: when it is over.
      problem: in place of the one that the configuration names.
      say: is given sentences for a person.
    """
    text = write_config(config)
    wish = msgspec.json.encode(dict(asked), order="deterministic").decode()
    book = TrialBook.read(folder)
    if book is not None:
        book.check_same(config=text, asked=wish, search=proposer.name)
        _check_budget(config, limits, book.tuning.seconds_per_step)
        say(f"going on with the {len(book.tuning.trials)} trials in {folder}")
        return book
    check_names(config, asked)  # before anything is measured
    check_bounds(asked)
    from pxsgmcmc.config.build import method_name
    from pxsgmcmc.tuning.starting_point import starting_point

    found = starting_point(config, problem)
    _check_budget(config, limits, found.seconds_per_step, found.seconds_to_start)
    start = with_kept(found.config, asked)
    ranges = search_ranges(start, asked)
    proposer.check(ranges)
    ranges, starts = _starts(config, ranges, asked, measured=found.stable_to is not None)
    book = TrialBook(
        folder,
        Tuning(
            config=text,
            asked=wish,
            search=proposer.name,
            start_config=write_config(start),
            lengths=lengths_of(start.chain.draws) if proposer.halving else [start.chain.draws],
            ranges=ranges,
            start=found.where_from,
            stable_to=found.stable_to,
            seconds_per_step=found.seconds_per_step,
            starts=starts if proposer.halving else {},
            method=method_name(start),
            data=found.problem.name,
            model=found.problem.model,
        ),
    )
    book.save()
    say(f"starting from {found.where_from}")
    return book


def _check_budget(
    config: Config, limits: Limits, seconds_per_step: float, seconds_to_start: float = 0.0
) -> None:
    needed = seconds_to_start + seconds_per_step * steps_of(config, config.chain.draws)
    if limits.seconds < needed:
        raise UserError(
            "`--budget` must leave time for one trial, which takes at least "
            f"{_short(needed)} here, got {_short(limits.seconds)}: give more, or fewer "
            "steps (`chain.draws`, `chain.cycle_length`)."
        )


def _short(seconds: float) -> str:
    return clock(seconds) if seconds >= 10.0 else f"{seconds:.2g} s"


def _starts(
    config: Config, ranges: list[SearchRange], asked: Asked, *, measured: bool
) -> tuple[list[SearchRange], dict[str, dict[str, float]]]:
    """Settings to try first, and the ranges, which hold them all."""
    first = {place.name: int(p) if place.whole else p for place in ranges for p in [place.start]}
    if not measured:
        return ranges, {"as configured": first}
    starts = {"pilot": first}
    try:
        own = {place.name: value_of(config, place.name) for place in ranges}
    except UserError:  # "auto", or one friction where the pilot has one for each group
        return ranges, starts
    wide = []
    for place in ranges:
        value = own[place.name]
        if isinstance(asked.get(place.name), list | tuple) or value <= 0.0:
            if not place.low <= value <= place.high:
                return ranges, starts
            wide.append(place)
            continue
        low, high = min(place.low, value), max(place.high, value)
        wide.append(replace(place, low=low, high=high, first=(low, high)))
    return wide, starts | ({} if own == first else {"as configured": own})
