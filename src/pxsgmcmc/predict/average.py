"""The Bayesian model average, streamed: one draw in memory at a time, inputs in batches."""

from collections.abc import Callable, Iterable
from typing import Any

from pxsgmcmc.data.check import check_new_inputs
from pxsgmcmc.errors import UserError
from pxsgmcmc.predict.forward import Forward
from pxsgmcmc.problem import Problem
from pxsgmcmc.types import Tree


def predict(
    problem: Problem,
    draws: Iterable[Tree],
    x: Any,
    *,
    batch_size: int = 1000,
    report: Callable[[int], None] | None = None,
) -> Any:
    """Average what all draws predict, as the problem's likelihood does it.

    For classes memory does not grow with the number of draws; for numbers each draw's rows are
    kept, since quantiles of a mixture need all of its parts.

    Args:
      problem: network, likelihood and how inputs are prepared.
      draws: parameters, one tree a draw; a generator or a `Run` is read once, in order.
      x: inputs like those of the training data, (rows, ...); a memory-mapped array is read batch by
        batch.
      batch_size: inputs at a time on the device.
      report: called with the number of draws done, after each.
    """
    x = check_new_inputs(x, problem.train.x, "x")
    forward = Forward(problem.distribution, min(batch_size, len(x)))
    collector = problem.likelihood.collector(len(x))
    count = 0
    for params in draws:
        for rows, values in forward.batches(params, x, count):
            collector.add(rows, values)
        count += 1
        if report is not None:
            report(count)
    if not count:
        raise UserError("There must be at least one draw to predict with, got none.")
    return collector.finish(count)
