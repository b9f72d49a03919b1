"""`fit`: draws from the posterior with no settings given; they are found by measurement."""

import dataclasses
import inspect
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp

from pxsgmcmc import priors
from pxsgmcmc.chain.sample import finish
from pxsgmcmc.config.build import warm_start_seed
from pxsgmcmc.errors import Diverged, UserError, check_count, check_number, one_line
from pxsgmcmc.expansion import expand, plan
from pxsgmcmc.posterior import PosteriorPotential, potential
from pxsgmcmc.problem import NETWORK, Problem
from pxsgmcmc.progress import Progress, Show, progress_for
from pxsgmcmc.rng import streams
from pxsgmcmc.run import Run
from pxsgmcmc.tree import check_float_leaves
from pxsgmcmc.tuning.approach import Approach, approach, held_out_loss, sampling_with
from pxsgmcmc.tuning.default_prior import HIDDEN, fan_in_variances, network_shapes
from pxsgmcmc.tuning.lengths import check_time, round_number, run_lengths
from pxsgmcmc.tuning.warm_start import warm_start
from pxsgmcmc.types import Tree

ALL_ROWS = 500  # up to so many rows a step sees all of them: no noise, and no time to gain
BATCH_SIZE, SMALL_BATCH_SIZE = 250, 100  # of more rows, and of networks that are slow
SLOW = 2e-3  # seconds that a gradient of the larger batch takes
FACTOR_VARIANCE = 0.02  # around the identity, well below 1 / width
LAST = {"classification": (30.0, 4.0), "regression": (HIDDEN,)}  # tried, the usual one first
WARM_START, APPROACH, SEARCH = 0.15, 0.1, 0.4  # shares of the time at most
OTHER_SEED = 2**30  # so that chains do not meet the noise and batches of the approach again
APPROACH_STEPS, WARM_STEPS = 1000, 2000  # at most


class Trying(NamedTuple):
    """What all energies that are tried have in common."""

    problem: Problem
    starts: Sequence[Tree]
    batch_size: int
    steps: int
    seed: int
    rows: int  # over which curvatures are taken at most


@dataclass(frozen=True)
class Candidate:
    """An energy that was tried, and how it went."""

    last: float
    expanded: bool
    energy: PosteriorPotential
    approach: Approach
    loss: float | None


def fit(
    problem: Problem,
    params: Tree | None = None,
    *,
    draws: int = 25,
    chains: int = 4,
    seed: int = 0,
    out: str | Path | None = None,
    max_seconds: float = 60.0,
    progress: Show = True,
) -> Run:
    """Sample the posterior of a network with settings that are found by measurement.

    The prior is a normal whose variances fall with the fan-in; how wide it is on the last layer of
    a classifier is decided on the validation rows, if there are any. Weights are expanded by one
    factor on each side, near the identity, where that is healthy. Every chain starts from a warm
    start of its own (`px.warm_start`); step size and friction are what `px.pilot` recommends where
    the chains then are; burn-in and the steps between draws follow from the autocorrelation times
    it predicts and from the time there is. What was chosen is in `run.origin["fit"]`. Lengths
    depend on the speed of the machine, rounded to 1, 2 or 5 times a power of ten, so another
    machine may give other draws.

    Args:
      problem: what is fitted to which data.
      params: the network's parameters, from which all chains start; without them each chain starts
        from parameters of its own, made by the problem's `init`.
      draws: how many to keep of each chain.
      chains: how many chains.
      seed: of everything random.
      out: run directory to write; None keeps the draws in memory.
      max_seconds: about how long it may take, finding the settings included. Networks too large for
        that end with a verdict that says so.
      progress: show it; "plain" for lines even on a terminal.

    Returns:
      The run, as from `px.sample`.

    Warns:
      ChainWarning: if the chains are not healthy, with what to do about it.

    Example: see `docs/automatic.md`.
    """
    ends = time.monotonic() + check_number("max_seconds", max_seconds, above=0.0)
    check_count("draws", draws, at_least=1)
    _check_out(out)
    starts = _starts(problem, params, chains, seed)
    shown = progress_for("fit", progress)
    try:
        size, step_seconds = _batch_size(problem, starts[0])
        spare = max_seconds / (chains * step_seconds)  # steps, if there was nothing else to do
        warm_steps = round_number(min(WARM_STEPS, max(50, WARM_START * spare)))
        if problem.validation is None:
            shown.say(
                "no validation rows: a tenth of the training rows says when to stop a warm start, "
                "and the prior has its usual scale"
            )
        shown.tell(0.0, f"warm start of {chains} chains, at most {warm_steps:,} steps each")
        check_time(ends - time.monotonic(), max_seconds)
        prior = _prior(problem, starts[0], LAST[problem.likelihood.task][0])
        warm = [
            warm_start(problem, q, prior=prior, seed=warm_start_seed(seed, n), steps=warm_steps)
            for n, q in enumerate(starts)
        ]
        check_time(ends - time.monotonic(), max_seconds)
        steps = round_number(min(APPROACH_STEPS, max(20, APPROACH * spare)))
        rows = 2 * size if step_seconds > SLOW else 1000
        trying = Trying(problem, warm, size, steps, (seed + OTHER_SEED) % 2**31, rows)
        best, note = _search(trying, SEARCH * max_seconds, shown)
        collection = run_lengths(best.approach, draws, ends - time.monotonic(), max_seconds)
        found = best.approach.recommendation
        shown.say(f"{note}; {found}; {collection.total_steps:,} steps of each chain")
    finally:
        shown.close()
    sampling = sampling_with(
        best.energy,
        found,
        best.approach.positions,
        collection=collection,
        batch_size=size,
        seed=seed,
    )
    facts = {
        "last_layer": best.last,
        "expanded": best.expanded,
        "choice": note,
        "step_size": found.step_size,
        "friction": dict(found.friction),
        "predicted": repr(found),
        "warm_start_steps": warm_steps,
        "approach_steps": steps,
    }
    return finish(dataclasses.replace(sampling, facts={"fit": facts}), out, progress=progress)


def _check_out(out: str | Path | None) -> None:
    """Before long work, not after."""
    if (
        out is not None
        and Path(out).exists()
        and not (Path(out).is_dir() and not any(Path(out).iterdir()))
    ):
        raise UserError(
            f"`out` must be a folder that is empty or not there, got {str(out)!r}; choose another."
        )


def _starts(problem: Problem, params: Tree | None, chains: int, seed: int) -> list[Tree]:
    """Where each chain begins, the likelihood's own parameters included."""
    if not isinstance(problem, Problem):
        raise UserError(f"`problem` must be a `px.Problem`, got {one_line(problem)}.")
    check_count("chains", chains, at_least=1)
    check_count("seed", seed)
    if params is None:
        keys = [jax.random.fold_in(streams(seed, chain).init, 0) for chain in range(chains)]
        starts = [jax.jit(problem.initial)(key) for key in keys]
    else:
        if inspect.isroutine(params):
            raise UserError(
                f"`params` must be a tree of arrays, got {one_line(params)}; a function that makes "
                "them is `init` of the problem."
            )
        check_float_leaves("params", params)
        complete = not problem.likelihood.start() or (
            isinstance(params, dict) and NETWORK in params
        )
        starts = [params if complete else problem.start(params)] * chains
    problem.check_network(starts[0])
    return starts


def _prior(problem: Problem, start: Tree, last: float) -> priors.Prior:
    return priors.normal(fan_in_variances(network_shapes(problem, start), last=last))


def _batch_size(problem: Problem, start: Tree) -> tuple[int, float]:
    """Rows a step sees, and the seconds that a step takes at least."""
    rows = len(problem.train.x)
    size = rows if rows <= ALL_ROWS else BATCH_SIZE
    batch = tuple(jnp.asarray(part[:size]) for part in problem.train)
    gradient = jax.jit(jax.grad(potential(problem)))
    jax.block_until_ready(gradient(start, batch))  # the first call compiles
    began = time.monotonic()
    for _ in range(3):
        jax.block_until_ready(gradient(start, batch))
    seconds = max(1e-5, (time.monotonic() - began) / 3.0)
    if size > SMALL_BATCH_SIZE and seconds > SLOW:
        return SMALL_BATCH_SIZE, seconds * SMALL_BATCH_SIZE / size
    return size, seconds


def _search(trying: Trying, seconds: float, shown: Progress) -> tuple[Candidate, str]:
    """The energy to sample: expanded if that is healthy, with the prior that predicts best."""
    began, expanded, notes = time.monotonic(), True, []
    best: Candidate | None = None
    losses: dict[float, float] = {}
    for last in LAST[trying.problem.likelihood.task]:
        spent = time.monotonic() - began
        if best is not None and (best.loss is None or 2.0 * spent > seconds):
            break
        shown.tell(0.2, f"prior {last:g} / fan-in on the last layer, {trying.steps:,} steps")
        tried = _try(trying, last, expanded)
        if expanded and (tried is None or not tried.approach.healthy):
            expanded = False
            notes.append("not expanded, since the factors would not be at their temperature")
            tried = _try(trying, last, expanded) or tried
        if tried is None:
            continue
        losses |= {} if tried.loss is None else {last: tried.loss}
        if best is None or best.loss is None or (tried.loss or 0.0) < best.loss:
            best = tried
    if best is None:
        raise Diverged(
            "`fit` found no step size at which chains do not diverge; start from smaller weights, "
            "or scale the inputs to about 1."
        )
    notes.insert(0, f"prior {best.last:g} / fan-in on the last layer")
    if len(losses) > 1:
        scores = " and ".join(f"{loss:.3g} at {last:g}" for last, loss in losses.items())
        notes.insert(1, f"validation NLL {scores}")
    return best, ", ".join(notes)


def _try(trying: Trying, last: float, expanded: bool) -> Candidate | None:
    """One energy; None if its chains diverge."""
    problem, starts = trying.problem, trying.starts
    energy = potential(
        problem,
        prior=_prior(problem, starts[0], last),
        factor_prior=priors.normal(FACTOR_VARIANCE, at="identity"),
    )
    if expanded:
        planned = plan(starts[0])
        starts = [expand(start, planned) for start in starts]
    try:
        there = approach(
            energy,
            starts,
            batch_size=trying.batch_size,
            steps=trying.steps,
            seed=trying.seed,
            rows=trying.rows,
        )
    except Diverged:
        return None
    rows = problem.validation
    loss = None if rows is None else held_out_loss(problem, there.run, rows)
    return Candidate(last, expanded, energy, there, loss)
