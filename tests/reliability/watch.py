"""What it costs to watch a chain: the same steps with and without, in turns.

As a program, `python watch.py PAIRS` prints the cost as a share of a step.
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
from pxsgmcmc.chain.executors import Advance, empty_tally
from pxsgmcmc.chain.health import Health, vitals
from pxsgmcmc.rng import streams

WIDTHS, BATCH, CHUNK = (64, 64, 64, 10), 100, 500


def network():
    """PX-SGHMC on a network of three dense layers; a chunk takes half a second."""
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
    energy = px.classification(apply, data_size=1000)
    return px.sghmc(energy, 1e-6, friction=friction), px.expand(params, plan), data


def unwatched(sampler):
    """The same loop, with nothing told."""

    @partial(jax.jit, donate_argnums=0)
    def many(state, rows, count, data, keys):
        def body(i, state):
            batch = jax.tree.map(lambda x: x[rows[i]], data)
            key = jax.random.fold_in(keys.noise, state.step)
            return sampler.step(key, state, batch)[0]

        return jax.lax.fori_loop(0, count, body, state)

    return many


def measure(pairs):
    """How much longer a chunk takes with the watch."""
    sampler, position, data = network()
    keys = streams(0)
    advance, bare = Advance(sampler, data, keys, "scan", None, BATCH), unwatched(sampler)
    rows = Batches(keys.batches, data_size=1000, batch_size=BATCH).rows(0, CHUNK)
    health = Health(10_000)

    states = [jax.tree.map(jnp.copy, sampler.init(position)) for _ in range(2)]

    def with_watch():
        states[0], tally = advance(states[0], empty_tally(), 0, rows)
        tally, seen = jax.device_get((tally, vitals(states[0])))
        health.check(0, CHUNK, float(tally.energy) / CHUNK, float(tally.step_size), seen)

    def without():
        table = np.zeros((advance.most, BATCH), np.int32)
        table[:CHUNK] = rows
        states[1] = bare(states[1], jnp.asarray(table), np.int32(CHUNK), data, keys)
        jax.block_until_ready(states[1])

    def seconds(work):
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    seconds(with_watch), seconds(without)  # compile
    times = []
    for pair in range(pairs):  # each goes first half of the time
        if pair % 2:
            times.append((seconds(with_watch), seconds(without)))
        else:
            times.append((seconds(without), seconds(with_watch))[::-1])
    watched, plain = (fastest_quarter(list(kind)) for kind in zip(*times, strict=True))
    return {
        "cost_percent": round(100 * (watched / plain - 1), 2),
        "pairs": pairs,
        "steps_a_chunk": CHUNK,
        "step_ms": round(1e3 * plain / CHUNK, 3),
    }


def fastest_quarter(times):
    """The mean time of the chunks that were disturbed least by other processes."""
    return statistics.fmean(sorted(times)[: max(1, len(times) // 4)])


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
