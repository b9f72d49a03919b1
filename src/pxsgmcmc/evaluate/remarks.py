"""What test metrics are worth: beside a guess that looks at no input, and on which rows."""

from collections.abc import Iterator, Mapping

import numpy as np

from pxsgmcmc.problem import Problem

_REMEDY = (
    "the network has learned nothing from the inputs: look at how they are scaled and matched to "
    "the targets, at the prior, and at whether the chain has settled"
)


def remarks_on(problem: Problem, metrics: Mapping[str, float]) -> list[str]:
    """A sentence if the test metrics are no better than a guess from the training targets alone.

    Another one if they are those of the training rows.

    Args:
      problem: with its test rows.
      metrics: on these, "err" or "rmse" among them.
    """
    remarks = list(_on_same_rows(problem))
    if problem.likelihood.task == "classification":
        remarks += _on_classes(problem, metrics)
    if problem.likelihood.task == "regression" and "rmse" in metrics:
        remarks += _on_numbers(problem, metrics)
    return remarks


def _on_same_rows(problem: Problem) -> Iterator[str]:
    train, test = problem.train, problem.test
    if len(train.x) == len(test.x) and all(map(np.array_equal, train, test)):
        yield (
            "What is called test rows here are the training rows: how good predictions are for "
            "new rows is not seen."
        )


def _on_classes(problem: Problem, metrics: Mapping[str, float]) -> Iterator[str]:
    train, test = (np.asarray(rows.y, np.int64) for rows in (problem.train, problem.test))
    commonest = int(np.bincount(train).argmax())
    guess = float(np.mean(test != commonest))
    if metrics.get("err", 0.0) >= guess > 0.0:
        yield (
            f"The test error, {metrics['err']:.3g}, is no better than answering "
            f"{problem.names[commonest]!r}, the commonest class, every time ({guess:.3g}): "
            f"{_REMEDY}."
        )


def _on_numbers(problem: Problem, metrics: Mapping[str, float]) -> Iterator[str]:
    train, test = (np.asarray(rows.y, np.float64) for rows in (problem.train, problem.test))
    guess = float(np.sqrt(np.mean((test - train.mean(axis=0)) ** 2)))
    if metrics["rmse"] >= guess > 0.0:
        yield (
            f"The test RMSE, {metrics['rmse']:.3g}, is no better than answering with the mean of "
            f"the training targets every time ({guess:.3g}): {_REMEDY}."
        )
