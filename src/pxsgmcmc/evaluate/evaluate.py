"""Everything there is to measure about a run, written to `results.json`.

Sets are taken one after the other. What all draws say of a set goes to a file that is mapped, so
that every number and curve is made from it without another forward pass and without holding it in
memory; unless it is asked to be kept, it is removed before the next set.
"""

import functools
import operator
from pathlib import Path
from typing import Any

import numpy as np

from pxsgmcmc.data.corruptions import CORRUPTIONS, SEVERITIES
from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluate import corrupted, parts
from pxsgmcmc.evaluate.cached_outputs import CachedOutputs
from pxsgmcmc.evaluate.detect import detect
from pxsgmcmc.evaluate.diagnose_progress import evenly
from pxsgmcmc.evaluate.options import EvaluateOptions
from pxsgmcmc.evaluate.remarks import remarks_on
from pxsgmcmc.evaluate.subject import subject_of
from pxsgmcmc.likelihoods.likelihood import Sums
from pxsgmcmc.problem import Problem, Rows
from pxsgmcmc.progress import Progress, Show, progress_for
from pxsgmcmc.results import Corruptions, Detection, Results, SplitResult, write
from pxsgmcmc.run import RESULTS, Run


def evaluate(
    run: Run,
    *,
    options: EvaluateOptions | None = None,
    outputs: str | Path | None = None,
    progress: Show | Progress = False,
) -> Results:
    """Measure a run on every set of its problem, and keep the results with it.

    Args:
      run: its draws; `run.skip(10)` leaves the first ten of each chain out.
      options: corruptions, subsets for telling sets apart, batch size.
      outputs: folder to keep what every draw says in. When draws have been added, only those are
        evaluated the next time. Without it, the files are removed on the way.
      progress: show it; "plain" for lines even on a terminal; or who is told.
    """
    options = EvaluateOptions() if options is None else options
    problem = run.need_problem("evaluate")
    if not len(run):
        raise UserError("There must be at least one draw to evaluate, got none.")
    if problem.test is None:
        raise UserError(
            "`test` must be given to the problem: without it nothing can be judged; "
            "`run.judged_on((x, y))` gives rows later, and of an estimator, `run_on(X, y)`."
        )
    run.check_writable()
    # All sets are checked before the first forward pass.
    corrupted_rows = corrupted.count_rows(problem, options)
    train = _evenly_chosen(problem.train, options.train_rows)
    sets = {"train": train, "test": problem.test, "validation": problem.validation}
    every = [*filter(None, sets.values()), *problem.shifts.values()]
    every += problem.out_of_distribution.values()
    grid = parts.band_grid(problem)
    rows = sum(len(one.x) for one in every) + corrupted_rows + (0 if grid is None else len(grid))
    shown = progress_for("evaluate", progress)
    try:
        cached = CachedOutputs(run, problem, outputs, options.batch_size, rows, shown)
        on_test, inside = _on_test(cached, problem)
        results = Results(
            subject=subject_of(run),
            task=problem.likelihood.task,
            headline=list(problem.likelihood.headline),
            verdict=run.verdict,
            train=_split(cached, problem, "train", train),
            validation=_split(cached, problem, "validation", problem.validation)
            if problem.validation is not None
            else None,
            **on_test,
            shifts={
                name: _split(cached, problem, f"shift-{name}", rows)
                for name, rows in problem.shifts.items()
            },
            out_of_distribution=_detections(cached, problem, inside, options),
            corruptions=_corruptions(cached, problem, options) if corrupted_rows else None,
            remarks=remarks_on(problem, on_test["test"].metrics),
        )
    finally:
        shown.close()
    run.write_artifact(RESULTS, write(results))
    return results


def _evenly_chosen(rows: Rows, most: int | None) -> Rows:
    """At most so many rows; all of them for None."""
    if most is None:
        return rows
    assert rows.y is not None
    chosen = evenly(len(rows.x), most)
    return Rows(rows.x[chosen], rows.y[chosen])


def _split(cached: CachedOutputs, problem: Problem, name: str, rows: Rows) -> SplitResult:
    assert rows.y is not None
    with cached.on(name, rows.x) as outputs:
        return parts.split_of(problem.likelihood, outputs, rows.y)


def _on_test(cached: CachedOutputs, problem: Problem) -> tuple[dict[str, Any], np.ndarray]:
    """The fields of `Results` that are made of the test rows, and the uncertainty of each row."""
    x, y = problem.test
    with cached.on("test", x) as outputs:
        fields = {
            "test": parts.split_of(problem.likelihood, outputs, y),
            "by_draws": parts.curve_by_draws(problem.likelihood, outputs, y),
            "by_burn_in": parts.curve_by_burn_in(problem.likelihood, outputs, y),
            **parts.figures(problem, outputs),
        }
        uncertain = problem.likelihood.uncertainty(outputs)
    if (grid := parts.band_grid(problem)) is not None:
        with cached.on("band", grid) as outputs:
            fields["regression"] = parts.with_bands(fields["regression"], problem, grid, outputs)
    return fields, uncertain


def _detections(
    cached: CachedOutputs, problem: Problem, inside: np.ndarray, options: EvaluateOptions
) -> dict[str, Detection]:
    detections = {}
    for name, rows in problem.out_of_distribution.items():
        with cached.on(f"outside-{name}", rows.x) as outputs:
            outside = problem.likelihood.uncertainty(outputs)
        detections[name] = detect(inside, outside, name, options)
    return detections


def _corruptions(cached: CachedOutputs, problem: Problem, options: EvaluateOptions) -> Corruptions:
    """Sums of each corruption and severity: all that is kept of each."""
    sums: dict[tuple[str, int], Sums] = {}
    for name in CORRUPTIONS:
        rows = corrupted.rows_of(problem, options, name)
        # All severities are one set: few rows of each would leave most of every batch empty.
        with cached.on(name, np.concatenate([split.x for split in rows.values()])) as outputs:
            start = 0
            for severity, split in rows.items():
                assert split.y is not None
                stop = start + len(split.y)
                sums[name, severity] = problem.likelihood.sums(outputs[:, start:stop], split.y)
                start = stop
    measured = {condition: summed.metrics() for condition, summed in sums.items()}
    pooled = {
        str(severity): functools.reduce(
            operator.add, (sums[name, severity] for name in CORRUPTIONS)
        )
        for severity in SEVERITIES
    }
    pooled["all"] = functools.reduce(operator.add, list(pooled.values()))
    return Corruptions(
        names=list(CORRUPTIONS),
        severities=list(SEVERITIES),
        values={
            metric: [[measured[name, s][metric] for s in SEVERITIES] for name in CORRUPTIONS]
            for metric in next(iter(measured.values()))
        },
        pooled={
            key: SplitResult(rows=all.rows, metrics=all.metrics()) for key, all in pooled.items()
        },
    )
