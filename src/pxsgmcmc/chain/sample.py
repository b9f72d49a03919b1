"""`sample`: check what was asked for, start the chains, run them."""

import functools
import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from signal import SIGINT
from typing import Any

import jax

from pxsgmcmc.chain.automatic import with_measured
from pxsgmcmc.chain.collection import collection_of
from pxsgmcmc.chain.execution import Execution
from pxsgmcmc.chain.process_group import is_first
from pxsgmcmc.chain.sampling import Sampling
from pxsgmcmc.chain.start import run_sampling
from pxsgmcmc.errors import ChainWarning, Interrupted, UserError, check_count, one_line
from pxsgmcmc.problem import Problem
from pxsgmcmc.progress import Show, progress_for
from pxsgmcmc.rng import streams
from pxsgmcmc.run import Run
from pxsgmcmc.store.layout import MANIFEST
from pxsgmcmc.store.targets import check_outside
from pxsgmcmc.types import Batch, Key, Sampler, Tree


def sample(
    sampler: Sampler | Callable[[float], Sampler],
    position: Tree | Callable[[Key], Tree],
    problem: Problem | Batch | None = None,
    *,
    draws: int,
    cycle_length: int,
    batch_size: int | None = None,
    burn_in: int = 0,
    draws_per_cycle: int = 1,
    thinning: int | None = None,
    chains: int = 1,
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    progress: Show = True,
    execution: Execution | None = None,
) -> Run:
    """Run one or several chains and keep their draws.

    What happens at step t depends on (seed, chain, t) and the state alone, so a run that was
    stopped and resumed gives the same draws, bit for bit, as one that was not. On a CPU the last
    bits also depend on the processor and on the number of XLA's threads (PJRT_NPROC); the manifest
    has both.

    Several chains run side by side in one program where the network suits that (no convolutions on
    a CPU), else one after the other. What a chain draws at random depends on its own number alone.
    One after the other, each is bit for bit the chain run alone. Side by side it is so up to
    rounding: XLA lays out the products of several chains in another way. As many chains give the
    same bits again, resumed or not.

    Args:
      sampler: from `px.sghmc` and its like, whose step size and friction can be "auto": they are
        measured where chain 0 will be, kept in the run, and not measured again with `resume`; or,
        for `on_divergence="retry"`, a function from a factor on the step size to a sampler.
      position: where to start, expanded or not; a function of a key gives each chain a start of its
        own, without which R-hat cannot notice chains that are caught near their start.
      problem: a `px.Problem`, whose training data are sampled; or any pytree of arrays with one
        leading axis, for a potential that knows what to do with it; or None for one that needs no
        data, such as those of `px.from_log_density`, which then gets None as its batch.
      draws: how many to keep of each chain.
      cycle_length: steps of a cycle; with one draw per cycle, steps between draws. A multiple of
        the period of a cyclical schedule, so that draws lie where the schedule ends.
      batch_size: rows a step sees; the number of data for full-batch samplers. Left out where there
        are no data.
      burn_in: steps before the first cycle. A cyclical schedule is shifted, so that cycles begin
        after it.
      draws_per_cycle: draws from each cycle, the last at its end.
      thinning: steps between draws of one cycle; by default they spread evenly over it.
      chains: how many chains, each with randomness of its own.
      seed: of everything random.
      out: run directory to write; None keeps the draws in memory.
      resume: go on with the run in `out` if there is one; with a larger `draws`, a finished run is
        extended, and equals one that was asked for so many at once.
      progress: show it; "plain" for lines even on a terminal.
      execution: how steps are run and how often the chain is looked at; see `px.Execution`.

    Returns:
      The run: draws, collapsed to the model's own parameters, and what to do with them.

    Raises:
      Diverged: if a chain diverged; what was kept before stays in `out`.
      KeyboardInterrupt: on Ctrl-C, after everything was saved.
      Interrupted: on SIGTERM or SIGHUP, after everything was saved.

    Warns:
      ChainWarning: if the chain is not healthy, with what to do about it.

    Example:
      >>> import jax.numpy as jnp, pxsgmcmc as px
      >>> U = px.potential(lambda q, x: -0.5 * (x - q) ** 2, data_size=8)
      >>> sampler = px.sghmc(U, 0.05, friction=2.0)
      >>> run = sample(sampler, jnp.zeros(()), jnp.arange(8.0), draws=3, cycle_length=10,
      ...              batch_size=4, progress=False)
      >>> len(run)
      3
    """
    execution = Execution() if execution is None else execution
    check_count("seed", seed)
    check_count("chains", chains, at_least=1)
    if out is not None and not (resume and Path(out, MANIFEST).exists()):
        check_outside(Path(out), "out")
    if execution.accept_changes and not resume:
        raise UserError("`accept_changes` needs a run to go on with: give `resume=True` too.")
    if isinstance(sampler, Sampler) and execution.on_divergence == "retry":
        raise UserError(
            "`sampler` must be a function from a factor on the step size to a sampler when "
            "`on_divergence` is 'retry'."
        )
    sampling = Sampling(
        build=_always(sampler) if isinstance(sampler, Sampler) else sampler,
        start=_start(position, seed),
        problem=problem if isinstance(problem, Problem) else None,
        data=tuple(problem.train) if isinstance(problem, Problem) else problem,
        collection=collection_of(draws, cycle_length, burn_in, draws_per_cycle, thinning),
        batch_size=_batch_size(problem, batch_size),
        seed=seed,
        chains=tuple(range(chains)),
        execution=execution,
    )
    if isinstance(sampler, Sampler):
        say = print if progress and is_first() else None
        sampling = with_measured(sampling, out, resume=resume, say=say)
    return finish(sampling, out, resume=resume, progress=progress)


def finish(
    sampling: Sampling, out: str | Path | None, *, resume: bool = False, progress: Show = True
) -> Run:
    """Run the chains to their end, raise if a signal stopped them, and say whether to believe them.

    Args:
      sampling: what to run.
      out: run directory to write; None keeps the draws in memory.
      resume: go on with the run in `out` if there is one.
      progress: show it.
    """
    if not is_first():
        progress = False  # the first process tells
    shown = progress_for("sampling", progress)
    try:
        run = run_sampling(sampling, out, resume=resume, progress=shown)
    finally:
        shown.close()
    if run.stopped_by is not None and sampling.execution.on_signal == "raise":
        _raise_interrupted(run, sampling.collection.draws)
    verdict = run.verdict
    if verdict.healthy is False:
        warnings.warn(" ".join([verdict.headline + ".", *verdict.warnings]), ChainWarning, 3)
    elif progress:
        print(f"{run.summary}; {verdict.headline}")
    return run


def _batch_size(problem: Any, batch_size: int | None) -> int:
    if problem is None and batch_size is not None:
        raise UserError(
            f"`batch_size` must be left out where there are no data, got {one_line(batch_size)}."
        )
    if problem is not None and batch_size is None:
        raise UserError(
            "`batch_size` must say how many rows a step sees, the number of data for all of them."
        )
    return 1 if batch_size is None else batch_size


def _always(sampler: Sampler) -> Callable[[float], Sampler]:
    return lambda factor: sampler


def _start(position: Any, seed: int) -> Callable[[int], Tree]:
    """From the number of a chain to where it starts; a module is a position even if callable."""
    if not (inspect.isroutine(position) or isinstance(position, functools.partial)):
        return lambda chain: position
    return lambda chain: position(jax.random.fold_in(streams(seed, chain).init, 0))


def _raise_interrupted(run: Run, draws: int) -> None:
    kept = f"{len(run)} draws are kept"
    remedy = (
        f"go on with `sample(..., out={str(run.path)!r}, resume=True)`"
        if run.path is not None
        else "with `out=` they would have been saved"
    )
    message = f"Interrupted; {kept} of {draws * run.chains}: {remedy}."
    if run.stopped_by == SIGINT:
        raise KeyboardInterrupt(message)
    assert run.stopped_by is not None
    raise Interrupted(message, run.stopped_by)
