"""A search for the settings of several methods, with equal effort, as a pure function of outcomes.

Settings live on a lattice of powers of two. For each method:

1. every point of a coarse grid is tried once;
2. the point that leads is tried with the other seeds, then the points next to it on every axis,
   until the leader has all its seeds and all its neighbours: it has been compared with points on
   both sides and sits on no edge, and a point that took the lead by luck has had to earn it;
3. a method that is settled while another has used more chains goes on with its runners-up, until
   all have used the same number.

Chains are asked for in waves. `replay` follows the waves from the start through the outcomes that
are known, so a search that was stopped anywhere goes on as if it had not been.
"""

import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

Point = tuple[int, ...]  # an exponent of two for each axis


class Axis(NamedTuple):
    """One setting: `centre` times powers of two.

    Attributes:
      name: of the setting.
      centre: its value at exponent 0.
      grid: exponents of the coarse grid.
      stride: from an exponent to its neighbours.

    Example:
      >>> Axis("friction", 100.0, grid=(-2, 0, 2), stride=2).value(-2)
      25.0
    """

    name: str
    centre: float
    grid: tuple[int, ...]
    stride: int

    def value(self, exponent: int) -> float:
        """The setting at an exponent."""
        return self.centre * 2.0**exponent


class PlannedChain(NamedTuple):
    """One run to be made: a method at a point with a seed."""

    method: str
    point: Point
    seed: int


Losses = Mapping[PlannedChain, float]  # infinite where the chain diverged


class Rules(NamedTuple):
    """What the search is told beforehand.

    Attributes:
      axes: of each method.
      seeds: the first for every point, all of them for points that lead.
      most: chains a method may use.
    """

    axes: Mapping[str, Sequence[Axis]]
    seeds: tuple[int, ...]
    most: int


class PointStanding(NamedTuple):
    """A point with the mean of its losses so far."""

    loss: float
    point: Point
    seeds: int


def replay(rules: Rules, known: Losses) -> tuple[dict[PlannedChain, float], list[PlannedChain]]:
    """Follow the search through `known`: the losses it used, and the chains it asks for next.

    The search is over when it asks for none.
    """
    used: dict[PlannedChain, float] = {}
    while wave := _next_wave(rules, used):
        missing = [chain for chain in wave if chain not in known]
        if missing:
            return used, missing
        used |= {chain: known[chain] for chain in wave}
    return used, []


def ranking(losses: Losses, method: str) -> list[PointStanding]:
    """The points of a method, best first."""
    by_point: dict[Point, list[float]] = {}
    for chain, loss in losses.items():
        if chain.method == method:
            by_point.setdefault(chain.point, []).append(loss)
    return sorted(PointStanding(statistics.fmean(x), p, len(x)) for p, x in by_point.items())


def settled(rules: Rules, losses: Losses, method: str) -> bool:
    """Whether the leading point has all its seeds and neighbours, and the grid is done."""
    return not _wanted(rules, losses, method)


def _next_wave(rules: Rules, losses: Losses) -> list[PlannedChain]:
    used = {method: sum(chain.method == method for chain in losses) for method in rules.axes}
    waves = {
        method: _wanted(rules, losses, method)[: rules.most - used[method]] for method in rules.axes
    }
    if not any(waves.values()):
        effort = max(used.values())
        waves = {
            method: _runners_up(rules, losses, method, effort - used[method])
            for method in rules.axes
        }
    # Taken in turns, so that what is known after a while is known of all methods alike.
    turns = itertools.chain.from_iterable(itertools.zip_longest(*waves.values()))
    return [chain for chain in turns if chain is not None]


def _wanted(rules: Rules, losses: Losses, method: str) -> list[PlannedChain]:
    """What the method still needs before it is settled, as far as can be said now."""
    points = itertools.product(*(axis.grid for axis in rules.axes[method]))
    grid = [PlannedChain(method, point, rules.seeds[0]) for point in points]
    missing = [chain for chain in grid if chain not in losses]
    return missing or _lacks(rules, losses, method, ranking(losses, method)[0].point)


def _lacks(rules: Rules, losses: Losses, method: str, point: Point) -> list[PlannedChain]:
    """Seeds the point has not been tried with; if there are none, neighbours not tried."""
    seeds = [PlannedChain(method, point, seed) for seed in rules.seeds]
    around = [
        PlannedChain(method, p, rules.seeds[0]) for p in neighbours(rules.axes[method], point)
    ]
    return [c for c in seeds if c not in losses] or [c for c in around if c not in losses]


def neighbours(axes: Sequence[Axis], point: Point) -> list[Point]:
    """The points one stride away on one axis.

    Example:
      >>> neighbours([Axis("a", 1.0, (0,), 1), Axis("b", 1.0, (0,), 2)], (0, 0))
      [(-1, 0), (1, 0), (0, -2), (0, 2)]
    """
    moves = [(i, sign * axis.stride) for i, axis in enumerate(axes) for sign in (-1, 1)]
    return [(*point[:i], point[i] + move, *point[i + 1 :]) for i, move in moves]


def _runners_up(rules: Rules, losses: Losses, method: str, count: int) -> list[PlannedChain]:
    """The first `count` chains that the next best points lack."""
    lists = (_lacks(rules, losses, method, s.point) for s in ranking(losses, method))
    distinct = dict.fromkeys(itertools.chain.from_iterable(lists))
    return list(itertools.islice(distinct, count))
