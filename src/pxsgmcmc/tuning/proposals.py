"""Who says what to try next, and the built-in one: best-first on a lattice of powers of two."""

import math
from typing import Protocol

from pxsgmcmc.errors import UserError
from pxsgmcmc.results import SearchRange, Trial, Tuning
from pxsgmcmc.tuning.best_first import Axis, PlannedChain, Rules, replay
from pxsgmcmc.tuning.space import as_setting

METHOD = "tuned"  # the lattice search knows several methods; here there is one


class Proposer(Protocol):
    """Proposes settings.

    Attributes:
      name: as `--search` has it.
      halving: whether its trials may be stopped early; if not, all get the same number of draws.
    """

    name: str
    halving: bool

    def check(self, ranges: list[SearchRange]) -> None:
        """Raise `UserError` if it cannot search one of the ranges."""
        ...

    def propose(self, tuning: Tuning, count: int, trials: int) -> list[dict[str, float]]:
        """Settings to try next, at most `count`; none if there is nothing left to try.

        Args:
          tuning: all that is known, with a score or a divergence for every trial.
          count: how many are wanted.
          trials: how many there will be in all.
        """
        ...


class BestFirst:
    """The point that leads, then its neighbours on every axis, until none is better.

    It begins at the start of every range and takes no notice of its ends. What it proposes depends
    on the scores alone, and every trial is of full length: for studies with equal effort.
    """

    name, halving = "best-first", False

    def check(self, ranges: list[SearchRange]) -> None:
        """Factors of two do not lead away from zero."""
        for place in ranges:
            _axis(place)

    def propose(self, tuning: Tuning, count: int, trials: int) -> list[dict[str, float]]:
        """The next points of the lattice."""
        axes = [_axis(place) for place in tuning.ranges]
        known = {_chain(axes, trial): _loss(trial, tuning) for trial in tuning.trials}
        wave = replay(Rules({METHOD: axes}, seeds=(0,), most=trials), known)[1]
        return [
            {
                place.name: as_setting(place, axis.value(exponent))
                for place, axis, exponent in zip(tuning.ranges, axes, chain.point, strict=True)
            }
            for chain in wave[:count]
        ]


def _axis(place: SearchRange) -> Axis:
    if not place.log:
        raise UserError(
            f"`--search best-first` walks by factors of two and cannot search {place.name} from "
            f"{place.low:g}: give `--search tpe`, or leave it out."
        )
    stride = 2 if place.name.startswith("sampler.friction") else 1
    return Axis(place.name, place.start, grid=(0,), stride=stride)


def _chain(axes: list[Axis], trial: Trial) -> PlannedChain:
    point = (round(math.log2(trial.settings[axis.name] / axis.centre)) for axis in axes)
    return PlannedChain(METHOD, tuple(point), 0)


def _loss(trial: Trial, tuning: Tuning) -> float:
    if not tuning.is_whole(trial) or not trial.scores[-1].is_fit:
        return math.inf
    return trial.scores[-1].nll or 0.0
