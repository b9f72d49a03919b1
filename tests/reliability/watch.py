"""What it costs to watch a chain, in CPU seconds: the same steps with and without, in turns.

As a program, `python watch.py ROUNDS` prints the cost as a share of a step. Two programs that
differ by an addition can differ by several percent in either direction, by how XLA lays them out;
the second baseline shows how much.
"""

import itertools
import json
import statistics
import sys
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

import pxsgmcmc as px
from pxsgmcmc.chain.batches import Batches
from pxsgmcmc.chain.divergence import DivergenceWatch, norms
from pxsgmcmc.chain.executors import Advance
from pxsgmcmc.rng import streams
from tests.helpers.energies import classification

WIDTHS, BATCH, CHUNK = (64, 64, 64, 10), 100, 2000


def network():
    """PX-SGHMC on a network of three dense layers; a chunk takes about a second, as by default."""
    rng = np.random.default_rng(0)
    data = (
        jnp.asarray(rng.normal(size=(1000, WIDTHS[0])), jnp.float32),
        jnp.asarray(rng.integers(0, 10, size=1000), jnp.int32),
    )
    params = {
        f"dense{i}": {"kernel": jnp.asarray(rng.normal(size=shape) / 8, jnp.float32)}
        for i, shape in enumerate(itertools.pairwise(WIDTHS))
    }

    def apply(params, x):
        for i in range(len(params)):
            x = jax.nn.silu(x) @ params[f"dense{i}"]["kernel"]
        return x

    plan = px.plan(params)
    friction = plan.groups(base=10.0, factors=1.0)
    energy = classification(apply, data_size=1000)
    return px.sghmc(energy, 1e-6, friction=friction), px.expand(params, plan), data


def keeping_info(sampler):
    """The same loop keeping the last step's info, which every step reports, and nothing else."""

    @partial(jax.jit, donate_argnums=0)
    def many(state, info, rows, count, data, keys):
        def body(i, carry):
            batch = jax.tree.map(lambda x: x[rows[i]], data)
            key = jax.random.fold_in(keys.noise, carry[0].step)
            return sampler.step(key, carry[0], batch)

        return jax.lax.fori_loop(0, count, body, (state, info))

    return many


def blind(sampler):
    """The same loop without even that: the compiler leaves out the value of the energy."""

    @partial(jax.jit, donate_argnums=0)
    def many(state, info, rows, count, data, keys):
        def body(i, state):
            batch = jax.tree.map(lambda x: x[rows[i]], data)
            key = jax.random.fold_in(keys.noise, state.step)
            return sampler.step(key, state, batch)[0]

        return jax.lax.fori_loop(0, count, body, state), info

    return many


def measure(rounds):
    """How many more CPU seconds a chunk takes with the watch, whoever else uses the machine."""
    sampler, position, data = network()
    keys = streams(0)
    advance = Advance(sampler, data, [keys], "scan", None, BATCH)
    rows = Batches(keys.batches, data_size=1000, batch_size=BATCH).rows(0, CHUNK)
    watch, none = DivergenceWatch(10_000), px.StepInfo(jnp.zeros(()), jnp.zeros(()))

    def fresh():
        return jax.tree.map(jnp.copy, sampler.init(position))

    def with_watch(state):
        state, sums = advance(state, 0, rows)
        sums, seen = jax.device_get((sums, norms(state)))
        seen = {name: float(norm) for name, norm in seen.items()}
        watch.check(0, CHUNK, float(sums.energy) / CHUNK, float(sums.largest_step_size), seen)
        return state

    def without(many):
        def chunk(state):
            table = np.zeros((advance.most, BATCH), np.int32)
            table[:CHUNK] = rows
            found = many(state, none, jnp.asarray(table), np.int32(CHUNK), data, keys)
            return jax.block_until_ready(found)[0]

        return chunk

    kinds = [with_watch, without(keeping_info(sampler)), without(blind(sampler))]
    states = [kind(fresh()) for kind in kinds]  # compiles
    times = [[] for _ in kinds]
    for turn in range(rounds):  # each goes first a third of the time
        for number in np.roll(range(len(kinds)), turn):
            began = time.process_time()
            states[number] = kinds[number](states[number])
            times[number].append(time.process_time() - began)
    watched, keeping, unseeing = map(fastest_quarter, times)
    return {
        "cost_percent": round(100 * (watched / unseeing - 1), 2),
        "over_kept_info_percent": round(100 * (watched / keeping - 1), 2),
        "rounds": rounds,
        "steps_a_chunk": CHUNK,
        "step_ms": round(1e3 * unseeing / CHUNK, 3),
    }


def fastest_quarter(times):
    """The mean time of the chunks that were disturbed least by other processes."""
    return statistics.fmean(sorted(times)[: max(1, len(times) // 4)])


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
