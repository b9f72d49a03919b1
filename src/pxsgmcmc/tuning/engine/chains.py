"""Chains that find their own settings: an ordinary run, by the ordinary loop."""

import dataclasses
import math
import time
from signal import SIGINT
from typing import Any

import jax
import numpy as np

from pxsgmcmc.chain.batches import Batches
from pxsgmcmc.chain.callbacks import watched
from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.chain.divergence import DivergenceWatch, check_first_energy
from pxsgmcmc.chain.groups import by_group
from pxsgmcmc.chain.runner import Runner
from pxsgmcmc.chain.under_way import ChainUnderWay, Pace, Record
from pxsgmcmc.errors import Interrupted
from pxsgmcmc.expansion import Expanded
from pxsgmcmc.progress import Progress
from pxsgmcmc.rng import streams
from pxsgmcmc.samplers.sghmc import SGHMCState
from pxsgmcmc.tree import size
from pxsgmcmc.tuning.engine.dear_steps import find_dear_settings
from pxsgmcmc.tuning.engine.prior_start import drawn_from_prior
from pxsgmcmc.tuning.engine.programs import Program, Settings
from pxsgmcmc.tuning.engine.records import Request, begin_records
from pxsgmcmc.tuning.engine.settings import at_rest, find_settings
from pxsgmcmc.tuning.engine.stepper import Stepper
from pxsgmcmc.tuning.lengths import run_lengths
from pxsgmcmc.types import Tree

# How many times the largest energy so far, with a unit a coordinate, a chain may have. It rises by
# half a unit a coordinate; a chain above was thrown to where its noise scale is beyond all data.
THROWN = 2.0
RETRIES = 6  # with half of the step size each
FINDING = 0.4  # share of the time after which the curvature is not looked at again
TIMED, TIMED_SLOW = 50, 20  # steps that say how long one takes


class _Advance:
    """What the loop calls: the program with data and settings."""

    def __init__(self, stepper: Stepper, settings: Settings, factor: float):
        self.stepper, self.friction = stepper, settings.friction
        self.h, self.most = factor * settings.step_size, stepper.most

    def __call__(self, state: Any, first: int, rows: np.ndarray, active: np.ndarray) -> Any:
        """State and sums after a step on each row."""
        del first
        several = self.stepper.spec.chains > 1
        count = rows.shape[-2]
        rows = rows if several else rows[None]
        state = state if several else jax.tree.map(lambda x: x[None], state)
        state, sums = self.stepper.call(state, count, rows, self.h, self.friction, active)
        return (state, sums) if several else jax.tree.map(lambda x: x[0], (state, sums))


class _AllRows:
    """The stream of a chain whose steps see all rows."""

    def rows(self, first: int, count: int) -> np.ndarray:
        """Nothing to choose: (count, 1)."""
        return np.zeros((count, 1), np.int32)

    def shuffle_ahead(self, first: int, count: int) -> None:
        """Nothing to shuffle."""


def run_chains(request: Request, records: list[Record] | None, progress: Progress) -> list[Record]:
    """Find settings, run the chains to their end; or go on with `records`.

    Raises:
      KeyboardInterrupt: on Ctrl-C, after everything was saved.
      Interrupted: on SIGTERM or SIGHUP.
      Diverged: if a chain diverged whatever the step size.
    """
    program, spec = request.program, request.program.spec
    first = jax.tree.map(np.asarray, program.expanded(request.starts[0]))
    positions = [_around(first, start) for start in request.starts]
    if request.from_prior:
        prior = program.prior(request.last_layer)
        keys = [
            jax.random.fold_in(streams(request.seed, chain).init, 1)  # 0 is that of `starts`
            for chain in range(spec.chains)
        ]
        positions = [drawn_from_prior(program.problem, prior, first, key) for key in keys]
    stacked = jax.tree.map(lambda *x: np.stack(x), *positions)
    stepper = _stepper(request, program, request.seed)
    if records is None:
        progress.tell(0.0, "finding settings")
        state, settings, collection, facts = _found(request, stepper, stacked)
        sampler = program.sampler(None, settings, first)
        records = begin_records(request, sampler, first, collection, facts, progress)
    else:
        origin = records[0].manifest["origin"]
        settings = settings_in(origin[request.made_by])
        collection = Collection(**{**origin["collection"], "draws": request.draws})
        # Shapes alone: what the numbers are is in the saved states.
        state = _beginning(program, SGHMCState(None, stacked, stacked))  # pyright: ignore[reportArgumentType]
    stepper = dataclasses.replace(stepper, masses=settings.masses, last_layer=settings.last_layer)
    told = watched(records, range(spec.chains), request.callbacks, progress.say)
    chains = [
        ChainUnderWay(record, stream, DivergenceWatch(size(first), energy_jump=THROWN))
        for record, stream in zip(told, stepper.streams, strict=True)
    ]
    runner = Runner(
        lambda factor: _Advance(stepper, settings, factor),  # pyright: ignore
        state if spec.chains > 1 else jax.tree.map(lambda x: x[0], state),
        chains,
        collection,
        Pace(1.0, 10.0, RETRIES),
        progress,
    )
    try:
        if not runner.resume():
            runner.save()
        if runner.unfinished:
            for record in records:
                record.update("running", draws=collection.draws)
            runner.run()
        elif any(record.status != "done" for record in records):
            # Interrupted on the way to more draws than are wanted now.
            for record in records:
                record.update("done", draws=collection.draws)
    finally:
        for record in records:
            record.close()
    if runner.stopped_by is not None:
        _raise_interrupted(runner.stopped_by, request)
    return records


def settings_in(facts: dict[str, Any]) -> Settings:
    """The settings that a manifest has."""
    return Settings(*(facts[name] for name in Settings._fields))._replace(
        masses=tuple(facts["masses"])
    )


def _found(request: Request, stepper: Stepper, positions: Tree) -> Any:
    """State of the chains, settings, lengths, and what a manifest says of how they were found."""
    program, spec = request.program, request.program.spec
    scout = _scout(request)
    groups = by_group(jax.tree.map(lambda x: x[0], positions))
    _, sums = scout.steps(at_rest(positions), 0, 1, 0.0, dict.fromkeys(groups, 0.0))  # compiles
    # Curvatures of what is not finite have eigenvalues on some processors and none on others.
    check_first_energy(float(np.sum(sums.first_energy)))
    left = request.ends - time.monotonic()
    ends = request.ends - (1.0 - FINDING) * left
    if spec.slow:
        seed = request.seed
        state, found, taken = find_dear_settings(scout, positions, spec.sampler, ends, seed)
    else:
        state, found, taken = find_settings(scout, positions, spec.sampler, ends)
    state = _beginning(program, state)
    stepper = dataclasses.replace(stepper, masses=found.settings.masses)
    timed = TIMED_SLOW if spec.slow else TIMED
    began = time.monotonic()
    h, friction = found.settings.step_size, found.settings.friction
    jax.block_until_ready(stepper.steps(state, 0, timed, h, friction)[0].step)
    collection = run_lengths(
        found.memory,
        request.draws,
        step_seconds=(time.monotonic() - began) / timed,
        seconds=request.ends - time.monotonic(),
    )
    unhurried = run_lengths(found.memory, request.draws, step_seconds=0.0, seconds=math.inf)
    facts = {
        **found.settings._asdict(),
        "settling_steps": taken,
        "found": found.sentence,
        "cut_short": collection != unhurried,
    }
    return state, found.settings, collection, facts


def _around(expanded: Tree, params: Tree) -> Tree:
    """The factors of one position around other parameters."""
    params = jax.tree.map(np.asarray, params)
    return dataclasses.replace(expanded, base=params) if isinstance(expanded, Expanded) else params


def _stepper(request: Request, program: Program, seed: int) -> Stepper:
    """The program with the data and the randomness of a seed."""
    spec, rows = program.spec, request.rows
    keys = [streams(seed, chain) for chain in range(spec.chains)]
    batches: list[Any] = [_AllRows() for _ in keys]
    if spec.batch:
        batches = [Batches(k.batches, data_size=rows, batch_size=spec.batch) for k in keys]
    stack = jax.numpy.stack
    own = [
        (stack([k.noise for k in keys[part]]), stack([k.augment for k in keys[part]]))
        for part in spec.parts
    ]
    data = jax.tree.map(jax.numpy.asarray, request.data)
    none = (1.0,) * len(jax.tree.leaves(jax.eval_shape(program.expanded, request.starts[0])))
    return Stepper(program, data, rows, batches, own, none, request.last_layer)


def _scout(request: Request) -> Stepper:
    """SGHMC with noise and batches of its own: what led to a start is not met again."""
    return _stepper(request, request.scout, (request.seed + 2**30) % 2**31)


def _beginning(program: Program, state: SGHMCState) -> Any:
    """A state of the sampler at step 0, where those of SGHMC are; with their momentum if it can."""
    spec = program.spec
    if spec.sampler == "sghmc":
        return state._replace(step=np.zeros(spec.chains, np.int32))
    one = jax.tree.map(lambda x: x[0], state.position)
    masses = (1.0,) * len(jax.tree.leaves(one))
    settings = Settings(1.0, {"base": 1.0, "factors": 1.0}, masses, 1.0)
    made = jax.vmap(program.sampler(None, settings, one).init)(state.position)
    return jax.tree.map(np.asarray, made)  # on the host: steps that are timed give theirs away


def _raise_interrupted(signal: int, request: Request) -> None:
    asked = "`warm_start=True`" if request.made_by == "estimator" else "`resume=True`"
    remedy = "with `out=` they would be saved" if request.out is None else f"go on with {asked}"
    message = f"Interrupted before the last draw; {remedy}."
    if signal == SIGINT:
        raise KeyboardInterrupt(message)
    raise Interrupted(message, signal)
