"""The error between draws of a chain: on lines through two, on the plane through three."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from pxsgmcmc import diagnostics, results
from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluate.diagnose_progress import Tell, evenly
from pxsgmcmc.predict import Forward
from pxsgmcmc.problem import Problem
from pxsgmcmc.results import Skipped
from pxsgmcmc.run import Run
from pxsgmcmc.types import Tree


def error_on(problem: Problem, forward: Forward, rows: int) -> Callable[[Tree], float]:
    """The error on at most so many training rows, as a function of the parameters."""
    x, y = problem.train
    chosen = evenly(len(x), rows)
    x, y = x[chosen], y[chosen]
    return lambda params: problem.likelihood.error(forward(params, x), y)


def lines_between_draws(
    run: Run, problem: Problem, forward: Forward, *, rows: int, lines: int, points: int, tell: Tell
) -> results.Connectivity | Skipped:
    """The error on straight lines between consecutive draws of the first chain.

    Args:
      run: its draws.
      problem: network and training data.
      forward: the network, compiled.
      rows: of the training data, at most.
      lines: how many, at most, evenly chosen.
      points: on each line, its ends among them.
      tell: told of progress.
    """
    pairs = len(run.index(0)) - 1
    if pairs < 1:
        return Skipped(reason="Lines between draws need two draws of one chain.")
    chosen = set(evenly(pairs, lines).tolist())
    error = error_on(problem, forward, rows)
    connections = []
    for place, (before, after) in enumerate(pairwise(run.draws_of(0))):
        if place not in chosen:
            continue
        segment = diagnostics.connect(error, before, after, points)
        connections.append(
            results.Connection(
                first=place + 1,
                second=place + 2,
                at=segment.alpha.tolist(),
                error=segment.value.tolist(),
                barrier=diagnostics.barrier(segment).height,
            )
        )
        tell("lines between draws", len(connections), len(chosen))
    return results.Connectivity(rows=min(rows, len(problem.train.x)), lines=connections)


def plane_through_draws(
    run: Run, problem: Problem, forward: Forward, *, rows: int, points: int, tell: Tell
) -> results.PlaneResult | Skipped:
    """The error on the plane through the first, the middle and the last draw of the first chain.

    Args:
      run: its draws.
      problem: network and training data.
      forward: the network, compiled.
      rows: of the training data, at most.
      points: on each side of the grid; fewer than 2 leave the plane out.
      tell: told of progress.
    """
    count = len(run.index(0))
    if points < 2:
        return Skipped(reason="It was not asked for.")
    if count < 3:
        return Skipped(reason=f"A plane goes through three draws of a chain; there are {count}.")
    numbers = (1, (count + 1) // 2, count)
    trees = [tree for n, tree in enumerate(run.draws_of(0), start=1) if n in numbers]
    try:
        plane = diagnostics.plane(*trees)
    except UserError as problem_with_plane:  # a chain that goes straight ahead, or stands still
        return Skipped(reason=str(problem_with_plane))
    x, y = diagnostics.plane_axes(plane, points)
    error = _counted(error_on(problem, forward, rows), points**2, tell)
    surface = diagnostics.survey(error, plane, x, y)
    first, second, third = plane.points.tolist()
    return results.PlaneResult(
        draws=numbers,
        points=[tuple(first), tuple(second), tuple(third)],
        x=x.tolist(),
        y=y.tolist(),
        error=np.asarray(surface.value).tolist(),
    )


def _counted(evaluate: Callable[[Tree], float], times: int, tell: Tell) -> Callable[[Tree], float]:
    """The same function, which tells how often it was called."""
    done = 0

    def counted(params: Tree) -> float:
        nonlocal done
        done += 1
        tell("plane through three draws", done, times)
        return evaluate(params)

    return counted
