"""The error between draws of a chain: on lines through two, on the plane through three."""

from collections.abc import Callable
from itertools import pairwise

from pxsgmcmc import diagnostics, results
from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluation.forward import Forward, evenly
from pxsgmcmc.evaluation.last_state import Report
from pxsgmcmc.evaluation.load import Opened
from pxsgmcmc.results import Skipped
from pxsgmcmc.types import Tree


def lines_between_draws(
    opened: Opened, forward: Forward, *, rows: int, lines: int, points: int, tell: Report
) -> results.Connectivity | Skipped:
    """The error on straight lines between consecutive draws of the first chain.

    Args:
      opened: the run.
      forward: its network.
      rows: of the training data, at most.
      lines: how many, at most, evenly chosen.
      points: on each line, its ends among them.
      tell: told of progress.
    """
    pairs = len(opened.runs[0].draws) - 1
    if pairs < 1:
        return Skipped(reason="Lines between draws need two draws of one chain.")
    chosen = set(evenly(pairs, lines).tolist())
    x, y = opened.experiment.train
    error = forward.error_on(x, y, rows)
    found = []
    for place, (before, after) in enumerate(pairwise(opened.draws_of(0))):
        if place not in chosen:
            continue
        segment = diagnostics.connect(error, before, after, points)
        found.append(
            results.Connection(
                first=place + 1,
                second=place + 2,
                at=segment.alpha.tolist(),
                error=segment.value.tolist(),
                barrier=diagnostics.barrier(segment).height,
            )
        )
        tell("lines between draws", len(found), len(chosen))
    return results.Connectivity(rows=min(rows, len(x)), lines=found)


def plane_through_draws(
    opened: Opened, forward: Forward, *, rows: int, points: int, tell: Report
) -> results.Plane | Skipped:
    """The error on the plane through the first, the middle and the last draw of the first chain.

    Args:
      opened: the run.
      forward: its network.
      rows: of the training data, at most.
      points: on each side of the grid; fewer than 2 leave the plane out.
      tell: told of progress.
    """
    count = len(opened.runs[0].draws)
    if points < 2:
        return Skipped(reason="It was not asked for.")
    if count < 3:
        return Skipped(reason=f"A plane goes through three draws of a chain; there are {count}.")
    numbers = (1, (count + 1) // 2, count)
    trees = [tree for n, tree in enumerate(opened.draws_of(0), start=1) if n in numbers]
    try:
        plane = diagnostics.plane(*trees)
    except UserError as problem:  # a chain that goes straight ahead, or stands still
        return Skipped(reason=str(problem))
    x, y = diagnostics.plane_axes(plane, points)
    error = _counted(forward.error_on(*opened.experiment.train, rows), points**2, tell)
    surface = diagnostics.survey(error, plane, x, y)
    first, second, third = plane.points.tolist()
    return results.Plane(
        draws=numbers,
        points=[tuple(first), tuple(second), tuple(third)],
        x=x.tolist(),
        y=y.tolist(),
        error=surface.value.tolist(),
    )


def _counted(
    evaluate: Callable[[Tree], float], times: int, tell: Report
) -> Callable[[Tree], float]:
    """The same function, which tells how often it was called."""
    done = 0

    def counted(params: Tree) -> float:
        nonlocal done
        done += 1
        tell("plane through three draws", done, times)
        return evaluate(params)

    return counted
