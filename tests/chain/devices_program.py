"""What chains on 8 virtual devices do, as JSON; `test_devices.py` runs it in a new process."""

import json
import re
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import pxsgmcmc as px
from pxsgmcmc.chain.layout import layout_of
from pxsgmcmc.errors import UserError
from pxsgmcmc.models._convolution import convolve
from pxsgmcmc.store import open_run
from tests.helpers.chain_problems import DATA, SAMPLERS, U, start_of
from tests.helpers.quick_jit import quick_jit

BATCH = tuple(jnp.asarray(part[:16]) for part in DATA)


def difference(a, b):
    """The largest difference of two states, leaf by leaf, relative to the leaf's largest number."""
    found = []
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        x, y = (np.asarray(leaf).astype(float) for leaf in (x, y))
        assert np.array_equal(np.isnan(x), np.isnan(y))  # a step without a test says NaN
        found.append(
            np.nanmax(np.abs(np.nan_to_num(x - y))) / (np.max(np.abs(np.nan_to_num(x))) or 1)
        )
    return float(max(found))


def steps():
    """How far one step on 8 devices is from the same step on one, sampler by sampler."""
    layout, key, found = layout_of(8, 16), jax.random.key(1), {}
    for name, make in SAMPLERS.items():
        sampler = make(1.0)
        state = sampler.init(start_of(name))
        alone = quick_jit(sampler.step)(key, state, BATCH)
        split = quick_jit(layout.split(sampler).step)(key, layout.place(state), BATCH)
        found[name] = difference(alone, split)
    return found


def convolutions():
    """The same of a network with blocked convolutions, and what its devices tell each other."""
    x = np.random.default_rng(0).normal(size=(16, 8, 8, 3)).astype(np.float32)
    y = np.random.default_rng(1).normal(size=16).astype(np.float32)
    kernels = jax.random.split(jax.random.key(0))
    position = {
        "first": 0.3 * jax.random.normal(kernels[0], (3, 3, 3, 4)),
        "second": 0.3 * jax.random.normal(kernels[1], (3, 3, 4, 4)),
    }

    def fit(params, batch):
        hidden = jnp.tanh(convolve(batch[0], params["first"]))
        return -((jnp.mean(convolve(hidden, params["second"]), (1, 2, 3)) - batch[1]) ** 2)

    sampler = px.sghmc(px.potential(fit, data_size=16), 1e-2, friction=1.0)
    layout, key = layout_of(8, 16), jax.random.key(1)
    state, batch = sampler.init(position), (jnp.asarray(x), jnp.asarray(y))
    alone = jax.jit(sampler.step)(key, state, batch)
    split = jax.jit(layout.split(sampler).step)
    placed = layout.place(state)
    program = split.lower(key, placed, batch).compile().as_text()
    return {
        "difference": difference(alone, split(key, placed, batch)),
        "all_gathers": len(re.findall(r"all-gather(?:-start)?\(", program)),
        "all_reduces": len(re.findall(r"all-reduce(?:-start)?\(", program)),
    }


def chain(out, devices, draws=3, resume=False, **more):
    """A chain in a run directory, and the hashes of its draws."""
    px.sample(
        SAMPLERS["px_sghmc"](1.0),
        start_of("px_sghmc"),
        DATA,
        draws=draws,
        cycle_length=10,
        batch_size=16,
        out=out,
        resume=resume,
        progress=False,
        execution=px.Execution(devices=devices, **more),
    )
    return [draw.sha256 for draw in open_run(out).draws]


def runs(folder):
    whole = chain(folder / "a", 4)
    chain(folder / "c", 4, draws=1)
    origins = [open_run(folder / "a").manifest["origin"]]
    alone = chain(folder / "one", 1)
    origins.append(open_run(folder / "one").manifest["origin"])
    return {
        "whole": whole,
        "again": chain(folder / "b", 4),
        "in_pieces": chain(folder / "c", 4, resume=True),
        "step_by_step": chain(folder / "d", 4, executor="loop"),
        "step_by_step_again": chain(folder / "e", 4, executor="loop", keep_data="host"),
        "alone": alone,
        "devices": [origin["devices"] for origin in origins],
        "steps": [origin["step_sha256"] for origin in origins],
        "refused": refusal(lambda: chain(folder / "a", 2, draws=4, resume=True)),
    }


def long_chains():
    """Two chains of 1,000 steps of a normal posterior with the same randomness, on 8 and on 1."""
    data = jnp.asarray(np.random.default_rng(2).normal(size=64).astype(np.float32))
    energy = px.potential(lambda q, x: -0.5 * (x - q) ** 2, data_size=64)
    found = []
    for devices in (1, 8):
        run = px.sample(
            px.sghmc(energy, 0.02, friction=5.0),
            jnp.zeros(()),
            data,
            draws=100,
            cycle_length=10,
            batch_size=32,
            progress=False,
            execution=px.Execution(devices=devices),
        )
        found.append(np.array([float(jax.tree.leaves(draw)[0]) for draw in run]))
    return {"difference": float(np.max(np.abs(found[0] - found[1]))), "spread": found[0].std()}


def refusal(call):
    try:
        call()
    except UserError as error:
        return str(error)
    return "nothing was refused"


def refusals(folder):
    own = px.sgld(px.from_log_density(lambda q: -jnp.sum(q**2)), 0.1)
    execution = px.Execution(devices=2)
    return {
        "too_many": refusal(lambda: layout_of(9, 18)),
        "uneven": refusal(lambda: layout_of(4, 10)),
        "none": refusal(lambda: layout_of(0, 10)),
        "own": refusal(
            lambda: px.sample(
                own,
                jnp.zeros(2),
                jnp.zeros(4),
                draws=1,
                cycle_length=1,
                batch_size=2,
                execution=execution,
            )
        ),
    }


if __name__ == "__main__":
    place = Path(sys.argv[1])
    assert jax.device_count() == 8 and U.data_size == len(DATA[0])
    result = {
        "steps": steps(),
        "convolutions": convolutions(),
        "runs": runs(place),
        "long": long_chains(),
        "refusals": refusals(place),
    }
    print(json.dumps(result, default=float))
