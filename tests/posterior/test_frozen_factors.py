"""With its factors frozen at the identity the expanded chain is the plain chain.

The numbers are the same, the programs are not: XLA may round them differently. Friction makes the
chains forget, so that after a thousand steps they are apart by a few roundings, as two chains are
that start a rounding apart.
"""

import jax
import numpy as np
import pytest

import pxsgmcmc as px
from tests.helpers.closeness import assert_close
from tests.helpers.energies import classification

STEPS = 1_000
STEP_SIZE = px.cyclical(1e-2, 50)


def mlp():
    rng = np.random.default_rng(0)

    def dense(into, out):
        kernel = rng.normal(size=(into, out)) / np.sqrt(into)
        return {"kernel": kernel.astype(np.float32), "bias": np.zeros(out, np.float32)}

    def apply(params, x):
        for name in ("a", "b"):
            x = jax.nn.silu(x @ params[name]["kernel"] + params[name]["bias"][None])
        return x @ params["c"]["kernel"] + params["c"]["bias"][None]

    params = {"a": dense(5, 16), "b": dense(16, 12), "c": dense(12, 3)}
    x = rng.normal(size=(64, 5)).astype(np.float32)
    return apply, params, (x, rng.integers(0, 3, 64).astype(np.int32))


def cnn():
    rng = np.random.default_rng(1)

    def layer(*shape):
        kernel = rng.normal(size=shape) / np.sqrt(np.prod(shape[:-1]))
        return {"kernel": kernel.astype(np.float32), "bias": np.zeros(shape[-1], np.float32)}

    def apply(params, x):
        for name in ("a", "b"):
            layer = params[name]
            x = jax.lax.conv_general_dilated(
                x, layer["kernel"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = jax.nn.silu(x + layer["bias"][None, None, None])
        return x.mean(axis=(1, 2)) @ params["c"]["kernel"] + params["c"]["bias"][None]

    params = {"a": layer(3, 3, 3, 8), "b": layer(3, 3, 8, 8), "c": layer(8, 4)}
    x = rng.normal(size=(64, 8, 8, 3)).astype(np.float32)
    return apply, params, (x, rng.integers(0, 4, 64).astype(np.int32))


def run(sampler, position, data):
    """A thousand jitted steps on rotating batches of 16, step sizes rising and falling."""

    @jax.jit
    def advance(state, step):
        start = 16 * (step % 4)
        batch = jax.tree.map(lambda x: jax.lax.dynamic_slice_in_dim(x, start, 16), data)
        return sampler.step(jax.random.fold_in(jax.random.key(7), step), state, batch)[0]

    state = sampler.init(position)
    with jax.debug_key_reuse(False):  # looking for reused keys takes longer than the steps
        for step in np.arange(STEPS, dtype=np.int32):
            state = advance(state, step)
    return state


@pytest.mark.parametrize(
    ("network", "depth"), [(mlp, 2), pytest.param(cnn, 1, marks=pytest.mark.slow)]
)
def test_px_sghmc_with_frozen_factors_is_sghmc(network, depth):
    apply, params, data = network()
    U = classification(apply, data_size=64, prior=px.priors.normal(0.2))
    plain = run(px.sghmc(U, STEP_SIZE, friction=10.0), params, data)
    plan = px.plan(params, out=depth, into=depth)
    frozen = px.sghmc(
        px.freeze_factors(U),
        STEP_SIZE,
        friction=plan.groups(base=10.0, factors=1.0),
        noise=plan.groups(base=1.0, factors=0.0),
    )
    start = px.expand(params, plan)
    expanded = run(frozen, start, data)

    moved = jax.tree.map(lambda new, old: np.abs(new - old).max(), plain.position, params)
    assert min(jax.tree.leaves(moved)) > 0.1
    same = [
        (plain.position, expanded.position.base),
        (plain.position, px.collapse(expanded.position)),
        (plain.momentum, expanded.momentum.base),
    ]
    for tree, twin in same:
        for a, b in zip(jax.tree.leaves(tree), jax.tree.leaves(twin), strict=True):
            assert_close(b, a, terms=STEPS, scale=1.0)
    for a, b in zip(*map(jax.tree.leaves, (start.factors, expanded.position.factors)), strict=True):
        assert np.array_equal(a, b)  # they never move
