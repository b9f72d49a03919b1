"""What it costs to watch a chain, in CPU seconds: the same steps with and without, in turns.

As a program, `python -m tests.reliability.watch ROUNDS` prints the cost as a share of a step. It is
held against a loop that keeps the last step's energy, which the index has of every draw; the other
baseline is a loop whose energies nobody reads, so that XLA does not compute them. XLA has one
thread (`PJRT_NPROC=1`): a second one waits by turning, and its CPU seconds are not work. Where a
process finds its memory, and how XLA lays out two programs, counts for a percent either way.
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
from pxsgmcmc.chain.executors import MOST_STEPS, Advance
from pxsgmcmc.chain.layout import DeviceLayout
from pxsgmcmc.chain.row_table import RowTable
from pxsgmcmc.rng import streams
from tests.helpers.energies import classification

WIDTHS, BATCH, CHUNK = (64, 64, 64, 10), 100, 1500


def network():
    """PX-SGHMC on a network of three dense layers; a chunk takes half a second, as by default."""
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
    """How many more CPU seconds a chunk takes when it is watched: medians over rounds."""
    sampler, position, data = network()
    keys = streams(0)
    rows = Batches(keys.batches, data_size=1000, batch_size=BATCH).rows(0, CHUNK)
    none = px.StepInfo(jnp.zeros(()), jnp.zeros(()))

    def watched(sampler):
        advance = Advance(sampler, data, [keys], "scan", None, BATCH)
        watch = DivergenceWatch(10_000)

        def chunk(state):
            state, sums = advance(state, 0, rows)
            sums, seen = jax.device_get((sums, norms(state)))
            seen = {name: float(norm) for name, norm in seen.items()}
            watch.check(0, CHUNK, float(sums.energy) / CHUNK, float(sums.largest_step_size), seen)
            return state

        return chunk

    def unwatched(many):
        table = RowTable((MOST_STEPS, BATCH), DeviceLayout(None))

        def chunk(state):
            after = many(state, none, table.write(rows), np.int32(CHUNK), data, keys)
            return jax.block_until_ready(after)[0]

        return chunk

    kinds = {
        "watched": watched(sampler._replace(facts=None)),  # nothing to report of its momentum
        "reported": watched(sampler),
        "keeping": unwatched(keeping_info(sampler)),
        "blind": unwatched(blind(sampler)),
    }
    start = sampler.init(position)
    states = {name: kind(jax.tree.map(jnp.copy, start)) for name, kind in kinds.items()}  # compiles
    times = {name: [] for name in kinds}
    for turn in range(rounds):  # each goes first as often as the others
        for name in np.roll(list(kinds), turn).tolist():
            began = time.process_time()
            states[name] = kinds[name](states[name])
            times[name].append(time.process_time() - began)
    seconds = {name: statistics.median(found) for name, found in times.items()}

    def percent(name, than):
        return round(100 * (seconds[name] / seconds[than] - 1), 2)

    return {
        "cost_percent": percent("watched", "keeping"),
        "with_energies_percent": percent("watched", "blind"),
        "with_reports_percent": percent("reported", "blind"),
        "rounds": rounds,
        "steps_a_chunk": CHUNK,
        "step_ms": round(1e3 * seconds["blind"] / CHUNK, 3),
    }


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
