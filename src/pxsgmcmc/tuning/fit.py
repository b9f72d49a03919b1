"""`fit`: draws from the posterior with no settings given; they are found by measurement."""

import dataclasses
import inspect
import time
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp

from pxsgmcmc import priors
from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.chain.sample import finish
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
from pxsgmcmc.tuning.recommend import Recommendation
from pxsgmcmc.tuning.warm_start import warm_start
from pxsgmcmc.types import Tree

ALL_ROWS = 500  # up to so many rows a step sees all of them: no noise, and no time to gain
BATCH_SIZE, SMALL_BATCH_SIZE = 250, 100  # of more rows, and of networks that are slow
SLOW = 2e-3  # seconds that a gradient of the larger batch takes
FACTOR_VARIANCE = 0.02  # around the identity, well below 1 / width
LAST = {"classification": (30.0, 4.0), "regression": (HIDDEN,)}  # tried, the usual one first
WARM_START, SEARCH = 0.15, 0.4  # shares of the time at most
APPROACH_STEPS, WARM_STEPS = 1000, 2000  # at most
LONGEST_CYCLE = 2000
FEWEST_STEPS = 10  # between draws
USED = 0.8  # share of the time that is left that chains are given


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
    starts = _starts(problem, params, chains, seed)
    check_count("draws", draws, at_least=1)
    rows = len(problem.train.x)
    size = rows if rows <= ALL_ROWS else BATCH_SIZE
    shown = progress_for("fit", progress)
    try:
        step_seconds = _gradient_seconds(problem, starts[0], size)
        if size > SMALL_BATCH_SIZE and step_seconds > SLOW:
            step_seconds *= SMALL_BATCH_SIZE / size
            size = SMALL_BATCH_SIZE
        spare = WARM_START * max_seconds / (chains * step_seconds)
        warm_steps = _round_number(min(WARM_STEPS, max(50, spare)))
        shown.tell(0.0, f"warm start of {chains} chains, at most {warm_steps:,} steps each")
        if problem.validation is None:
            shown.say(
                "no validation rows: a tenth of the training rows says when to stop a warm "
                "start, and the prior has its usual scale"
            )
        prior = _prior(problem, starts[0], LAST[problem.likelihood.task][0])
        warm = [
            warm_start(problem, start, prior=prior, seed=seed * 1000 + chain, steps=warm_steps)
            for chain, start in enumerate(starts)
        ]
        spare = 0.1 * max_seconds / (chains * step_seconds)
        steps = _round_number(min(APPROACH_STEPS, max(20, spare)))
        best, note = _search(problem, warm, size, steps, seed, ends, SEARCH * max_seconds, shown)
        left = ends - time.monotonic()
        collection = _lengths(best.approach, draws, left, max_seconds)
        found = best.approach.recommendation
        facts = {
            "prior": best.energy.prior.name,
            "last_layer": best.last,
            "expanded": best.expanded,
            "tried": note,
            "step_size": found.step_size,
            "friction": dict(found.friction),
            "predicted": repr(found),
            "warm_start_steps": warm_steps,
            "approach_steps": steps,
        }
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
    sampling = dataclasses.replace(sampling, facts={"fit": facts})
    return finish(sampling, out, progress=progress)


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


def _gradient_seconds(problem: Problem, start: Tree, size: int) -> float:
    """What a step costs at least; the first call compiles."""
    batch = tuple(jnp.asarray(part[:size]) for part in problem.train)
    gradient = jax.jit(jax.grad(potential(problem)))
    jax.block_until_ready(gradient(start, batch))
    began = time.monotonic()
    for _ in range(3):
        jax.block_until_ready(gradient(start, batch))
    return max(1e-5, (time.monotonic() - began) / 3.0)


def _search(
    problem: Problem,
    warm: list[Tree],
    size: int,
    steps: int,
    seed: int,
    ends: float,
    seconds: float,
    shown: Progress,
) -> tuple[Candidate, str]:
    """The energy to sample: expanded if that is healthy, with the prior that predicts best."""
    began, expanded, notes = time.monotonic(), True, []
    best: Candidate | None = None
    losses: dict[float, float] = {}
    for last in LAST[problem.likelihood.task]:
        if best is not None:
            spent = time.monotonic() - began
            if problem.validation is None or spent + spent > seconds:
                break
        shown.tell(0.2, f"prior of scale {last:g} on the last layer, {steps:,} steps")
        tried = _try(problem, warm, last, expanded, size, steps, seed)
        if expanded and (tried is None or not tried.approach.healthy):
            expanded = False
            notes.append("not expanded, since the factors would run too hot")
            tried = _try(problem, warm, last, expanded, size, steps, seed) or tried
        if tried is not None and tried.loss is not None:
            losses[last] = tried.loss
        if tried is not None and (best is None or (tried.loss or 0.0) < (best.loss or 0.0)):
            best = tried
    if best is None:
        raise Diverged(
            "`fit` found no step size that does not diverge; start from smaller weights, or scale "
            "the inputs to about 1."
        )
    notes.insert(0, f"prior {best.last:g} / fan-in on the last layer")
    if len(losses) > 1:
        scores = " and ".join(f"{loss:.3g} at {last:g}" for last, loss in losses.items())
        notes.insert(1, f"validation NLL {scores}")
    return best, ", ".join(notes)


def _try(
    problem: Problem,
    warm: list[Tree],
    last: float,
    expanded: bool,
    size: int,
    steps: int,
    seed: int,
) -> Candidate | None:
    """One energy; None if its chains diverge."""
    energy = potential(
        problem,
        prior=_prior(problem, warm[0], last),
        factor_prior=priors.normal(FACTOR_VARIANCE, at="identity"),
    )
    starts = warm
    if expanded:
        planned = plan(warm[0])
        starts = [expand(start, planned) for start in warm]
    try:
        there = approach(energy, starts, batch_size=size, steps=steps, seed=seed)
    except Diverged:
        return None
    validation = problem.validation
    loss = None if validation is None else held_out_loss(problem, there.run, validation)
    return Candidate(last, expanded, energy, there, loss)


def _lengths(there: Approach, draws: int, seconds: float, max_seconds: float) -> Collection:
    """Burn-in and cycles that forget the softest direction, or as long as there is time."""
    cycle = min(LONGEST_CYCLE, max(100.0, 2.0 * _memory(there.recommendation)))
    burn_in = 10.0 * cycle
    affordable = USED * (seconds - there.other_seconds) / max(there.step_seconds, 1e-7)
    if affordable < FEWEST_STEPS * draws:
        raise UserError(
            f"`max_seconds` must leave time for {draws} draws after the settings are found, got "
            f"{max_seconds:g}; give at least {2.0 * (max_seconds - seconds) + 5.0:.0f}, or ask for "
            "fewer draws."
        )
    share = min(1.0, affordable / (burn_in + draws * cycle))
    return Collection(
        draws, _round_number(max(FEWEST_STEPS, share * cycle)), _round_number(share * burn_in)
    )


def _memory(found: Recommendation) -> float:
    """Steps in which the softest direction that anything holds is forgotten."""
    times = [time for pair in found.prediction.autocorrelation.values() for time in pair]
    return max((time for time in times if time < float("inf")), default=100.0)


def _round_number(value: float) -> int:
    """The largest of 1, 2, 5, 10, 20, ... that is not above."""
    rounded = 1
    for number in (scale * unit for scale in (10**k for k in range(10)) for unit in (1, 2, 5)):
        rounded = number if number <= value else rounded
    return rounded
