"""Chains of an estimator: an ordinary run, by the ordinary loop, of a program that is kept."""

import dataclasses
import time
from pathlib import Path
from signal import SIGINT
from typing import Any

import jax
import numpy as np

from pxsgmcmc.chain.batches import Batches
from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.chain.divergence import DivergenceWatch
from pxsgmcmc.chain.groups import by_group
from pxsgmcmc.chain.runner import Runner
from pxsgmcmc.chain.under_way import Chain, Pace, Record
from pxsgmcmc.errors import Interrupted
from pxsgmcmc.expansion import Expanded
from pxsgmcmc.progress import Progress
from pxsgmcmc.rng import streams
from pxsgmcmc.samplers.sghmc import SGHMCState
from pxsgmcmc.sklearn.programs import Program, Spec, program_for
from pxsgmcmc.sklearn.records import Request, begin_records
from pxsgmcmc.sklearn.settings import LONGEST, SHORTEST, Settings, at_rest, find_settings
from pxsgmcmc.sklearn.stepper import Stepper
from pxsgmcmc.tree import size
from pxsgmcmc.tuning.lengths import round_number
from pxsgmcmc.types import Batch, Tree

BURN_IN = 3  # cycles, after the steps that led to the settings
SPACING = 1.5  # memories between draws: energies still repeat themselves by half after one
RETRIES = 3


class _Advance:
    """What the loop calls: the kept program with this fit's data and settings."""

    def __init__(self, stepper: Stepper, h: float, friction: dict[str, float]):
        self.stepper, self.h, self.friction = stepper, h, friction
        self.most = stepper.most

    def __call__(self, state: Any, first: int, rows: np.ndarray, active: np.ndarray) -> Any:
        """State and sums after a step on each row."""
        del first
        several = self.stepper.spec.chains > 1
        count = rows.shape[-2]
        rows = rows if several else rows[None]
        state = state if several else jax.tree.map(lambda x: x[None], state)
        table = self.stepper.table(rows) if self.stepper.spec.batch else rows[:1, :1, :1]
        state, sums = self.stepper.call(state, count, table, self.h, self.friction, active)
        if several:
            return state, sums
        return jax.tree.map(lambda x: x[0], (state, sums))


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
    spec = request.spec
    keys = [streams(request.seed, chain) for chain in range(spec.chains)]
    program = program_for(spec)
    batches: list[Any] = [_AllRows() for _ in keys]
    if spec.batch:
        batches = [Batches(k.batches, data_size=request.rows, batch_size=spec.batch) for k in keys]
    noise = jax.numpy.stack([k.noise for k in keys])
    data = jax.tree.map(jax.numpy.asarray, request.data)
    params = [_with_noise(spec, request.network.start(jax.random.fold_in(k.init, 0))) for k in keys]
    first = jax.tree.map(np.asarray, program.expanded(params[0]))
    if records is None:
        progress.tell(0.0, "finding settings")
        scout = _scout(request, data, batches, noise, first)
        positions = jax.tree.map(lambda *x: np.stack(x), *[_around(first, p) for p in params])
        scout.steps(at_rest(positions), 0, 1, 0.0, dict.fromkeys(by_group(first), 0.0))
        began = time.monotonic()  # now that everything is compiled
        state, found, taken = find_settings(scout, positions, spec.sampler)
        stepper = Stepper(spec, program, data, request.rows, batches, noise, found.masses)
        state = _beginning(spec, program, state)
        h, friction = found.step_size, found.friction
        spent = time.monotonic() - began
        collection = _lengths(request, stepper, state, found, spent)
        facts = {
            "step_size": h,
            "friction": friction,
            "masses": found.masses,
            "settling_steps": taken,
            "found": found.found,
        }
        records = begin_records(request, program, first, collection, facts, progress)
    else:
        origin = records[0].manifest["origin"]
        facts = origin["estimator"]
        h, friction, masses = facts["step_size"], facts["friction"], tuple(facts["masses"])
        stepper = Stepper(spec, program, data, request.rows, batches, noise, masses)
        collection = Collection(**{**origin["collection"], "draws": request.draws})
        # Shapes alone: what the numbers are is in the saved states.
        still = jax.tree.map(lambda x: np.stack([x] * spec.chains), first)
        state = _beginning(spec, program, SGHMCState(None, still, still))  # pyright: ignore[reportArgumentType]
    if spec.chains == 1:
        state = jax.tree.map(lambda x: x[0], state)
    chains = [
        Chain(record, stream, DivergenceWatch(size(first)))
        for record, stream in zip(records, batches, strict=True)
    ]
    runner = Runner(
        lambda factor: _Advance(stepper, factor * h, friction),  # pyright: ignore
        state,
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
    finally:
        for record in records:
            record.close()
    if runner.stopped_by is not None:
        _raise_interrupted(runner.stopped_by, request.out)
    return records


def _with_noise(spec: Spec, params: Tree) -> Tree:
    own = spec.likelihood.start()
    own = {name: np.asarray(value) for name, value in own.items()}
    return {"network": params, "likelihood": own} if own else params


def _around(expanded: Tree, params: Tree) -> Tree:
    """The factors of one position around other parameters."""
    params = jax.tree.map(np.asarray, params)
    return dataclasses.replace(expanded, base=params) if isinstance(expanded, Expanded) else params


def _scout(request: Request, data: Batch, batches: list[Any], noise: Any, first: Tree) -> Stepper:
    """SGHMC with noise and batches of its own: what led to a start is not met again."""
    spec = dataclasses.replace(request.spec, sampler="sghmc")
    if spec.batch:
        keys = [streams((request.seed + 2**30) % 2**31, chain) for chain in range(spec.chains)]
        batches = [Batches(k.batches, data_size=request.rows, batch_size=spec.batch) for k in keys]
    noise = jax.vmap(lambda key: jax.random.fold_in(key, 2**31 - 1))(noise)
    masses = (1.0,) * len(jax.tree.leaves(first))
    return Stepper(spec, program_for(spec), data, request.rows, batches, noise, masses)


def _beginning(spec: Spec, program: Program, state: SGHMCState) -> Any:
    """A state of the sampler at step 0, where those of SGHMC are; with their momentum if it can."""
    if spec.sampler == "sghmc":
        return state._replace(step=np.zeros(spec.chains, np.int32))
    one = jax.tree.map(lambda x: x[0], state.position)
    friction, masses = {"base": 1.0, "factors": 1.0}, [1.0] * len(jax.tree.leaves(one))
    made = jax.vmap(program.sampler(1.0, friction, masses, one).init)(state.position)
    return jax.tree.map(np.asarray, made)  # on the host: steps that are timed give theirs away


def _lengths(
    request: Request, stepper: Stepper, state: Any, found: Settings, spent: float
) -> Collection:
    """Cycles that forget what they began with, or as long as there is time.

    Lengths follow from what was measured, so that they do not depend on the speed of the machine
    unless `max_seconds` cuts them short.
    """
    cycle = round(min(LONGEST, max(SHORTEST, SPACING * found.memory)))
    burn_in = BURN_IN * cycle
    total = burn_in + request.draws * cycle
    began, steps = time.monotonic(), 50
    after, _ = stepper.steps(state, 0, steps, found.step_size, dict(found.friction))
    jax.block_until_ready(after.step)
    seconds = (time.monotonic() - began) / steps
    share = 0.9 * (request.max_seconds - spent) / (total * seconds)
    if share < 1.0:
        cycle, burn_in = (max(1, round_number(max(share, 0.0) * n)) for n in (cycle, burn_in))
    return Collection(request.draws, cycle, burn_in)


def _raise_interrupted(signal: int, out: Path | None) -> None:
    remedy = (
        "go on with `warm_start=True`" if out is not None else "with `out=` they would be saved"
    )
    message = f"Interrupted before the last draw; {remedy}."
    if signal == SIGINT:
        raise KeyboardInterrupt(message)
    raise Interrupted(message, signal)
