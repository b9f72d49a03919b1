"""Test images made worse: made here, or read from a set in the layout of CIFAR-10-C."""

import numpy as np

from pxsgmcmc.data import load_corrupted
from pxsgmcmc.data._cifar import CIFAR10_CLASSES
from pxsgmcmc.data._official import OFFICIAL
from pxsgmcmc.data.corruptions import CORRUPTIONS, SEVERITIES, corrupt
from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluate.options import EvaluateOptions
from pxsgmcmc.problem import Problem, Rows


def rows_of(problem: Problem, options: EvaluateOptions, name: str) -> dict[int, Rows]:
    """The rows of one corruption at every severity."""
    chosen = slice(options.corrupted_rows)
    if options.corruptions is True:
        x, y = problem.test
        return {
            s: Rows(corrupt(x[chosen], name, s, seed=options.seed), y[chosen]) for s in SEVERITIES
        }
    source, rows = str(options.corruptions), {}
    ours = problem.train.x
    for severity in SEVERITIES:
        x, y = load_corrupted(source, corruption=name, severity=severity, root=options.root)
        if y is None:
            raise UserError(f"`corruptions` must name a set with labels, got {source!r}.")
        if x.shape[1:] != ours.shape[1:] or x.dtype != ours.dtype:
            raise UserError(
                f"`corruptions` must name a set like {problem.name!r}, whose inputs are "
                f"{ours.dtype}{list(ours.shape[1:])}; {source!r} has {x.dtype}{list(x.shape[1:])}."
            )
        rows[severity] = Rows(x[chosen], y[chosen])
    return rows


def count_rows(problem: Problem, options: EvaluateOptions) -> int:
    """How many rows `rows_of` will give in all; what it would refuse is refused now."""
    if options.corruptions is False:
        return 0
    ours = problem.train.x
    if ours.dtype != np.uint8 or ours.ndim != 4:
        raise UserError(
            f"`corruptions` needs images, uint8 (rows, height, width, channels), and "
            f"{problem.name!r} has none."
        )
    if options.corruptions in OFFICIAL:
        if options.corruptions != "cifar10-c" or problem.names != CIFAR10_CLASSES:
            raise UserError(
                "`corruptions` must be true, false or a corrupted copy of "
                f"{problem.name!r}, got {options.corruptions!r}."
            )
    if options.corruptions is True:
        rows = len(problem.test.x[: options.corrupted_rows])
    else:
        rows = len(rows_of(problem, options, next(iter(CORRUPTIONS)))[SEVERITIES[0]].x)
    return rows * len(CORRUPTIONS) * len(SEVERITIES)
