"""`fit`: draws from the posterior with no settings given; they are found by measurement."""

import dataclasses
import inspect
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from pxsgmcmc import priors
from pxsgmcmc.chain.execution import Execution
from pxsgmcmc.chain.sample import finish
from pxsgmcmc.config.build import warm_start_seed
from pxsgmcmc.errors import Diverged, UserError, check_count, check_number, one_line
from pxsgmcmc.expansion import expand, plan
from pxsgmcmc.posterior import PosteriorPotential, potential
from pxsgmcmc.problem import NETWORK, Problem, Rows
from pxsgmcmc.progress import Show, progress_for
from pxsgmcmc.run import Run
from pxsgmcmc.tree import check_float_leaves
from pxsgmcmc.tuning.approach import Approach, approach, sampling_with
from pxsgmcmc.tuning.default_prior import LAST, drawn, fan_in_variances, network_shapes
from pxsgmcmc.tuning.flat_energy import FlatEnergy
from pxsgmcmc.tuning.lengths import check_time, round_number, run_lengths
from pxsgmcmc.tuning.speed import Speed, speed_and_batch_size, speed_at
from pxsgmcmc.tuning.warm_start import Descent
from pxsgmcmc.types import Tree

FACTOR_VARIANCE = 0.02  # around the identity, well below 1 / width
WARM_START, APPROACH, EXPANSION = 0.15, 0.1, 0.1  # shares of the time at most
OTHER_SEED = 2**30  # so that chains do not meet the noise and batches of the approach again
APPROACH_STEPS, WARM_STEPS = 1000, 2000  # at most


@dataclass(frozen=True)
class Candidate:
    """An energy that was tried, and how it went."""

    energy: FlatEnergy
    speed: Speed
    approach: Approach
    expanded: bool


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

    The prior is a normal whose variances fall with the fan-in. Weights are expanded by one factor
    on each side, near the identity, where that is healthy and there is time to see whether it is.
    Every chain starts from a warm start of its own (`px.warm_start`); step size and friction are
    what `px.pilot` recommends where the chains then are; burn-in and the steps between draws follow
    from the autocorrelation times it predicts and from the time there is. What was chosen is in
    `run.origin["fit"]`. Lengths depend on the speed of the machine, rounded to 1, 2, 3, 5 or 7
    times a power of ten, so another machine may give other draws.

    Args:
      problem: what is fitted to which data.
      params: the network's parameters, from which all chains start; without them each chain starts
        from a draw from the prior, of the shapes that the problem's `init` makes.
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
    starts, prior = _starts_and_prior(problem, params, chains, seed)
    shown = progress_for("fit", progress)
    try:
        plain = FlatEnergy(potential(problem, prior=prior), starts[0])
        size, speed = speed_and_batch_size(plain, problem.train)
        spare = max_seconds / (chains * speed.gradient)  # steps, if there was nothing else to do
        warm_steps = round_number(min(WARM_STEPS, max(50, WARM_START * spare)))
        if problem.validation is None:
            shown.say(
                "no validation rows: a tenth of the training rows says when to stop a warm start"
            )
        shown.tell(0.0, f"warm start of {chains} chains, at most {warm_steps:,} steps each")
        check_time(ends - time.monotonic(), max_seconds)
        descent = Descent(problem, plain, batch_size=size, on_prior=params is None)
        warm = [
            descent(start, seed=warm_start_seed(seed, number), steps=warm_steps)
            for number, start in enumerate(starts)
        ]
        check_time(ends - time.monotonic(), max_seconds)
        steps = round_number(min(APPROACH_STEPS, max(20, APPROACH * spare)))
        shown.tell(0.2, f"{steps:,} cautious steps of {chains} chains")
        best, note = _choose(
            plain, speed, problem.train, warm, size, steps, (seed + OTHER_SEED) % 2**31, ends
        )
        found = best.approach.recommendation
        collection = run_lengths(
            found,
            draws,
            step_seconds=chains * max(best.speed.gradient, 0.5 * best.approach.step_seconds),
            seconds=ends - time.monotonic() - best.speed.step_compiles,
            max_seconds=max_seconds,
        )
        last = LAST[problem.likelihood.task]
        note = f"prior {last:g} / fan-in on the last layer, {note}"
        shown.say(f"{note}; {found}; {collection.total_steps:,} steps of each chain")
    finally:
        shown.close()
    sampling = sampling_with(
        _posterior(best.energy),
        found,
        best.approach.positions,
        collection=collection,
        batch_size=size,
        seed=seed,
        execution=Execution(executor="loop" if best.speed.slow else "auto", on_divergence="retry"),
    )
    facts = {
        "last_layer": last,
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


def _starts_and_prior(
    problem: Problem, params: Tree | None, chains: int, seed: int
) -> tuple[list[Tree], priors.Prior]:
    """Where each chain begins, the likelihood's own parameters included, and the prior."""
    if not isinstance(problem, Problem):
        raise UserError(f"`problem` must be a `px.Problem`, got {one_line(problem)}.")
    check_count("chains", chains, at_least=1)
    check_count("seed", seed)
    if params is None:
        position = jax.eval_shape(problem.initial, jax.random.key(0))
    else:
        position = _given(problem, params)
    shapes = network_shapes(problem, position)
    variances = fan_in_variances(shapes, last=LAST[problem.likelihood.task])
    starts = [position] * chains
    if params is None:
        generators = [np.random.default_rng([seed, chain]) for chain in range(chains)]
        starts = [problem.start(drawn(variances, shapes, one)) for one in generators]
    problem.check_network(starts[0])
    return starts, priors.normal(variances)


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


def _choose(
    plain: FlatEnergy,
    speed: Speed,
    train: Rows,
    starts: Sequence[Tree],
    size: int,
    steps: int,
    seed: int,
    ends: float,
) -> tuple[Candidate, str]:
    """The energy to sample: expanded if there is time to try that and it is healthy."""
    how = {"batch_size": size, "steps": steps, "seed": seed, "slow": speed.slow}
    note = "not expanded, since there is no time to try it"
    tried: Candidate | None = None
    trying = speed.compiles + len(starts) * steps * speed.gradient
    if trying < EXPANSION * (ends - time.monotonic()):
        wider = dataclasses.replace(
            _posterior(plain), factor_prior=priors.normal(FACTOR_VARIANCE, at="identity")
        )
        planned = plan(starts[0])
        expanded = [expand(start, planned) for start in starts]
        energy = FlatEnergy(wider, expanded[0])
        speed_of_it = speed_at(energy, train, size)
        try:
            tried = Candidate(energy, speed_of_it, approach(energy, expanded, **how), True)
        except (Diverged, UserError):
            tried = None
        if tried is not None and tried.approach.healthy:
            return tried, "expanded"
        note = "not expanded, since the factors would not be at their temperature"
    try:
        return Candidate(plain, speed, approach(plain, starts, **how), False), note
    except (Diverged, UserError) as error:
        if tried is not None:
            return tried, "expanded, although the factors may not be at their temperature"
        raise Diverged(
            "`fit` found no step size at which chains do not diverge; start from smaller weights, "
            "or scale the inputs to about 1."
        ) from error


def _posterior(energy: FlatEnergy) -> PosteriorPotential:
    assert isinstance(energy.potential, PosteriorPotential)
    return energy.potential
