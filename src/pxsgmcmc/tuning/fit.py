"""`fit`: draws from the posterior with no settings given; they are found by measurement."""

import inspect
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from pxsgmcmc.chain.callbacks import Callback, check_callbacks
from pxsgmcmc.chain.graceful_stop import kept_ctrl_c
from pxsgmcmc.errors import ChainWarning, UserError, check_count, check_number, one_line
from pxsgmcmc.problem import NETWORK, Problem
from pxsgmcmc.progress import Show, progress_for
from pxsgmcmc.rng import streams
from pxsgmcmc.run import Run
from pxsgmcmc.run.health import evidence_on
from pxsgmcmc.tree import check_float_leaves
from pxsgmcmc.tuning.default_prior import LAST
from pxsgmcmc.tuning.engine.chains import run_chains
from pxsgmcmc.tuning.engine.programs import (
    Program,
    Spec,
    batch_for,
    executor_for,
    make_program,
)
from pxsgmcmc.tuning.engine.records import Request, begun_records, check_free, check_same
from pxsgmcmc.tuning.engine.remedies import Remedies
from pxsgmcmc.tuning.engine.whole_run import whole_run
from pxsgmcmc.types import Batch, Tree

FACTORS = 1  # on each side of every layer
REMEDIES = Remedies(
    longer="Ask for more `draws`; `run.verdict` has the details.",
    cut_short="`max_seconds` cut the chains short: give a larger one; `run.verdict` has the "
    "details.",
    anew="Fit again with another `seed`, or with inputs of size about one; `run.verdict` has the "
    "details.",
    diverged="Fit again with another `seed`, with inputs of size about one, or from smaller "
    "`params`.",
)


@kept_ctrl_c()
def fit(
    problem: Problem,
    params: Tree | None = None,
    *,
    draws: int = 25,
    chains: int = 4,
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    max_seconds: float = 60.0,
    progress: Show = True,
    callbacks: Sequence[Callback] = (),
) -> Run:
    """Sample the posterior of a network with settings that are found by measurement.

    The prior is a normal whose variances fall with the fan-in. Weights are expanded by one factor
    on each side, near the identity. Masses are the curvatures of the prior; step size and friction
    follow from the curvature and the gradient noise where the chains are after some cautious steps;
    burn-in and the steps between draws follow from how long the softest direction is remembered.
    What was chosen is in `run.origin["fit"]`. Lengths depend on the speed of the machine only where
    `max_seconds` cuts them short, and are rounded down then.

    Args:
      problem: what is fitted to which data.
      params: the network's parameters, from which all chains start; without them each chain starts
        from parameters of its own, by the problem's `init`, or from a draw of the prior where steps
        are too dear to get there (convolutions on a CPU).
      draws: how many to keep of each chain.
      chains: how many chains.
      seed: of everything random.
      out: run directory to write; None keeps the draws in memory.
      resume: go on with the run in `out` if there is one, which an interrupt left or which is to
        have more draws; problem and seed must be those it began with.
      max_seconds: about how long it may take, finding the settings included. Networks too large for
        that end with a verdict that says so.
      progress: show it; "plain" for lines even on a terminal.
      callbacks: functions of a `px.Event`, told every chunk and every draw once the settings are
        found; what they raise is said, and the chains go on.

    Returns:
      The run, as from `px.sample`.

    Warns:
      ChainWarning: if the chains are not healthy, with what to do about it.

    Example: see `docs/automatic.md`.
    """
    ends = time.monotonic() + check_number("max_seconds", max_seconds, above=0.0)
    check_count("draws", draws, at_least=1)
    check_count("chains", chains, at_least=1)
    check_count("seed", seed)
    check_callbacks(callbacks)
    folder = None if out is None else Path(out)
    if not resume:
        check_free(folder, "give `resume=True`")
    starts = _starts(problem, params, chains, seed)
    shown = progress_for("fit", progress)
    try:
        for warning in problem.check_network(starts[0]):
            shown.say(warning)
        program = _program(problem, starts[0], chains)
        request = Request(
            program=program,
            scout=program,
            starts=starts,
            data=_data(problem, program.spec.batch),
            rows=len(problem.train.x),
            facts=problem.facts()
            | {"prior_asked": "default", "method_asked": f"sghmc, {FACTORS} factors"},
            made_by="fit",
            last_layer=LAST[problem.likelihood.task],
            draws=draws,
            seed=seed,
            ends=ends,
            out=folder,
            from_prior=program.spec.slow and params is None,
            callbacks=callbacks,
        )
        records = begun_records(folder, chains, shown) if resume and folder is not None else None
        if records is not None:
            check_same(records, request, "resume")
        with REMEDIES.for_divergence():
            records = run_chains(request, records, shown)
    finally:
        shown.close()
    run = whole_run(records, program, problem, starts[0], made_by="fit", out=folder)
    verdict = run.verdict
    if verdict.healthy is False:
        # The wrapper that keeps a Ctrl-C lies between here and the caller.
        warnings.warn(REMEDIES.sentence(verdict, evidence_on(run)), ChainWarning, 3)
    elif progress:
        print(f"{run.summary}; {verdict.headline}")
    return run


def _starts(problem: Problem, params: Tree | None, chains: int, seed: int) -> list[Tree]:
    """Where each chain begins, the likelihood's own parameters included."""
    if not isinstance(problem, Problem):
        raise UserError(f"`problem` must be a `px.Problem`, got {one_line(problem)}.")
    if params is not None:
        return [_given(problem, params)] * chains
    initial = jax.jit(problem.initial)  # an initialiser run leaf by leaf takes seconds
    return [initial(jax.random.fold_in(streams(seed, n).init, 0)) for n in range(chains)]


def _given(problem: Problem, params: Tree) -> Tree:
    """The user's parameters, with the likelihood's own."""
    if inspect.isroutine(params):
        raise UserError(
            f"`params` must be a tree of arrays, got {one_line(params)}; a function that makes "
            "them is `init` of the problem."
        )
    check_float_leaves("params", params)
    complete = not problem.likelihood.start() or (isinstance(params, dict) and NETWORK in params)
    return params if complete else problem.start(params)


def _program(problem: Problem, params: Tree, chains: int) -> Program:
    executor = executor_for(params)
    batch = batch_for(executor, len(problem.train.x), augmented=problem.augment is not None)
    return make_program(problem, Spec(None, FACTORS, "sghmc", chains, batch, executor))


def _data(problem: Problem, batch: int) -> Batch:
    """Rows with weights that make a batch count as much as all of them."""
    x, y = problem.train
    weight: Any = len(x) / batch if batch else 1.0
    return x, y, np.full(len(x), weight, np.float32)
