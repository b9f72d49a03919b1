"""One chain of the search on digits: what `pxsgmcmc run` would do, scored on the validation rows.

The settings that are searched are arguments of the compiled step, so a process compiles once for
each method. As a program it is a worker: a line of JSON in, a chain, a line of JSON out.
"""

import dataclasses
import functools
import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.chain.batches import Batches
from pxsgmcmc.chain.executors import Advance
from pxsgmcmc.chain.health import Health, vitals
from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.config import Config, parse_config, write_config
from pxsgmcmc.config.schema import SGHMC, Cyclical, Groups
from pxsgmcmc.errors import Diverged
from pxsgmcmc.expansion import collapse, groups
from pxsgmcmc.experiment import Experiment, wire
from pxsgmcmc.metrics import measure
from pxsgmcmc.potential import normal
from pxsgmcmc.rng import streams
from pxsgmcmc.samplers import sghmc
from pxsgmcmc.samplers.sghmc import SGHMCState
from pxsgmcmc.schedules import cyclical
from pxsgmcmc.tree import size
from pxsgmcmc.types import Array, Batch, Key, Sampler, StepInfo, Tree


class Knobs(NamedTuple):
    """The settings that differ between chains, scalars of the default float type."""

    step_size: Array  # the peak of the schedule
    friction: Array  # of the base, or of everything
    factor_friction: Array  # not read where there are no factors
    variance: Array  # of the prior


class TunedState(NamedTuple):
    """The state of `sghmc` with the settings it is run with."""

    step: Array
    position: Tree
    momentum: Tree
    knobs: Knobs


def knobs_of(config: Config) -> Knobs:
    """The searched settings of a configuration."""
    sampler = config.sampler
    assert isinstance(sampler, SGHMC) and isinstance(sampler.step_size, Cyclical)
    friction = sampler.friction
    if not isinstance(friction, Groups):
        friction = Groups(base=friction, factors=friction)
    numbers = (sampler.step_size.peak, friction.base, friction.factors, config.prior.variance)
    return Knobs(*(jnp.asarray(number, float) for number in numbers))


def tuned(parts: Experiment) -> Sampler:
    """SGHMC on the energy of `parts` that reads its settings from its state."""
    shape = cyclical(1.0, parts.config.chain.steps)

    def step(key: Key, state: TunedState, batch: Batch) -> tuple[TunedState, StepInfo]:
        knobs, friction = state.knobs, state.knobs.friction
        if parts.plan is not None:
            friction = groups(state.position, base=friction, factors=knobs.factor_friction)
        energy = dataclasses.replace(parts.potential, prior=normal(knobs.variance))
        sampler = sghmc(energy, lambda t: knobs.step_size * shape(t), friction=friction)
        state_of_sghmc = SGHMCState(state.step, state.position, state.momentum)
        after, info = sampler.step(key, state_of_sghmc, batch)
        return TunedState(after.step, after.position, after.momentum, knobs), info

    def init(position: Tree) -> TunedState:
        zeros = jax.tree.map(jnp.zeros_like, position)
        position = jax.tree.map(jnp.copy, position)  # the first step donates it
        return TunedState(jnp.int32(0), position, zeros, knobs_of(parts.config))

    return Sampler(init, step)


class Bench:
    """Runs chains of configurations that differ in seed and searched settings alone."""

    def __init__(self, config: Config):
        parts = wire(config)
        self.text = write_config(config)  # the file may be edited while a worker is at work
        self.data = jax.tree.map(jnp.asarray, parts.train)
        self.validation = parts.dataset.splits["validation"]
        size_of_batch = config.chain.batch_size
        self.advance = Advance(tuned(parts), self.data, streams(0), "loop", None, size_of_batch)
        self.logits: Callable[[Tree, Any], Array] = jax.jit(
            lambda position, x: parts.apply(collapse(position), x)
        )

    def run(self, config: Config) -> np.ndarray:
        """Logits of every draw on the validation rows, (draws, rows, classes)."""
        parts, keys, chain = wire(config), streams(config.seed), config.chain
        self.advance.keys = keys
        rows = Batches(keys.batches, data_size=len(self.data[0]), batch_size=chain.batch_size)
        health, state = Health(size(parts.position)), tuned(parts).init(parts.position)
        logits = []
        for first in range(0, chain.draws * chain.steps, chain.steps):
            table = rows.rows(first, chain.steps)
            state, tally = self.advance(state, first, table)
            tally, seen = jax.device_get((tally, vitals(state)))
            energy, last = float(tally.energy) / chain.steps, first + chain.steps - 1
            health.check(first, last, energy, float(tally.step_size), seen)
            logits.append(np.asarray(self.logits(state.position, self.validation.x)))
        return np.stack(logits)


@functools.cache
def bench_for(name: str, base: tuple[str, ...]) -> Bench:
    """The bench of a bundled configuration; compiled once in a process."""
    return Bench(load_config(name, list(base)))


def trial(name: str, base: Sequence[str], flags: Sequence[str]) -> dict[str, Any]:
    """Run one chain; all its draws count, from the first.

    Args:
      name: of a bundled configuration.
      base: flags over it, the same for all chains.
      flags: seed and searched settings.

    Returns:
      "nll" and "err" of the average of all draws on the validation rows, None where the chain
      diverged, and "seconds".
    """
    began = time.monotonic()
    bench = bench_for(name, tuple(base))
    found: dict[str, float | None] = {"nll": None, "err": None}
    try:
        logits = bench.run(parse_config(bench.text, list(flags)))
        assert bench.validation.y is not None
        if np.isfinite(logits).all():
            found = {**measure(logits, bench.validation.y, list(found))}
    except Diverged:
        pass
    return {**found, "seconds": round(time.monotonic() - began, 1)}


def main() -> None:
    """Answer each line of JSON, [name, base, flags], with the outcome on a line."""
    for line in sys.stdin:
        print(json.dumps(trial(*json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
