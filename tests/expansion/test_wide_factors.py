"""Factors that are wider inside than the layer: counts, start, product, volume, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import pxsgmcmc as px
from pxsgmcmc.errors import UserError
from pxsgmcmc.expansion.factors import wide_identity
from pxsgmcmc.posterior import _log_volume
from tests.expansion.r20_shapes import r20_shapes

PARAMS = {
    "a": {"kernel": jnp.arange(12.0).reshape(3, 4), "bias": jnp.arange(4.0)},
    "b": {"kernel": jnp.arange(20.0).reshape(4, 5) - 9.0, "bias": jnp.arange(5.0)},
    "c": {"kernel": jnp.arange(10.0).reshape(5, 2), "bias": jnp.zeros(2)},
}


def wide(count=2, inner=1.5):
    return px.plan(PARAMS, out=count, into=count, inner=inner)


def disturbed(position, key):
    leaves, structure = jax.tree.flatten(position)
    keys = jax.random.split(key, len(leaves))
    moved = [x + jax.random.normal(k, x.shape) for x, k in zip(leaves, keys, strict=True)]
    return jax.tree.unflatten(structure, moved)


def test_counts_are_exact():
    # Widths 4 and 5, 6 and 8 inside (7.5 is rounded to even): behind a, before and behind b,
    # before c.
    assert wide().factor_parameters == 2 * 4 * 6 + (2 * 4 * 6 + 2 * 5 * 8) + 2 * 5 * 8
    assert wide(3).factor_parameters == wide().factor_parameters + 2 * 6**2 + 2 * 8**2
    assert wide(2, 1.0).factor_parameters == 2 * 2 * (4**2 + 5**2)
    for plan in (wide(), wide(3), wide(2, 2.0)):
        position = px.expand(PARAMS, plan, jax.random.key(0))
        assert plan.parameters == sum(leaf.size for leaf in jax.tree.leaves(position))
    # R20 with c = d = 2 has 492,154, of which 218,112 in the factors.
    assert px.plan(r20_shapes(), out=2, into=2, inner=1.5).parameters == 274_042 + 218_112 * 3 // 2
    assert "2 of 4x6" in str(wide()) and "2 of 5x8" in str(wide())


@pytest.mark.parametrize("count", [2, 3])
def test_the_start_is_the_identity_and_every_factor_has_a_gradient(count):
    position = px.expand(PARAMS, wide(count), jax.random.key(0))
    start = px.collapse(position)
    for got, asked in zip(jax.tree.leaves(start), jax.tree.leaves(PARAMS), strict=True):
        assert jnp.array_equal(got, asked)
    slope = jax.grad(lambda q: jnp.sum(px.collapse(q)["b"]["kernel"] ** 2))(position)
    last = slope.factors["b"].out[-1]
    assert last.shape == (5, 8) and jnp.abs(last[:, 5:]).min() > 0.0  # the added channels too
    with pytest.raises(UserError, match="`key` must be given to `expand` when `inner` is set"):
        px.expand(PARAMS, wide(count))


@pytest.mark.parametrize("count", [2, 3])
def test_the_product_is_that_of_all_factors(count):
    position = disturbed(px.expand(PARAMS, wide(count), jax.random.key(0)), jax.random.key(1))
    own, base = position.factors["b"], position.base["b"]
    P = np.linalg.multi_dot([np.asarray(p, np.float64) for p in reversed(own.out)])
    Q = np.linalg.multi_dot([np.asarray(q, np.float64) for q in own.into])
    weights = px.collapse(position)["b"]
    # A kernel is (in, out): W^T = P V^T Q.
    kernel = np.einsum("ou,lu,li->io", P, np.asarray(base["kernel"], np.float64), Q)
    size = np.abs(kernel).max()
    assert np.abs(np.asarray(weights["kernel"]) - kernel).max() < 1e-5 * size
    assert np.abs(np.asarray(weights["bias"]) - P @ np.asarray(base["bias"])).max() < 1e-5 * size


def test_the_volume_of_the_exact_prior_is_the_determinant_of_the_map():
    position = disturbed(px.expand(PARAMS, wide(), jax.random.key(0)), jax.random.key(2))

    def weights(base):
        moved = px.collapse(px.expansion.Expanded(base, position.factors, position.layers))
        return ravel_pytree(moved)[0]

    flat, unravel = ravel_pytree(position.base)
    matrix = np.asarray(jax.jacobian(lambda v: weights(unravel(v)))(flat), np.float64)
    exact = np.linalg.slogdet(matrix)[1]
    assert float(_log_volume(position)) == pytest.approx(exact, rel=1e-4)


def test_one_factor_alone_has_no_inside():
    with pytest.raises(UserError, match="`inner` needs no or at least two factors on a side"):
        px.plan(PARAMS, out=1, into=2, inner=2.0)
    with pytest.raises(UserError, match="`inner` must be"):
        px.plan(PARAMS, out=2, into=2, inner=0.5)
    with pytest.raises(UserError, match="`inner` needs full factors"):
        px.plan(PARAMS, out=2, into=2, inner=2.0, rank=1)


def test_the_added_channels_start_as_large_as_the_others():
    """Rows of N(0, 1 / width) have a squared norm of 1, as those of the identity.

    The mean of its 400 added rows of width 200 is 1 within 5 standard errors, each sqrt(2 / 80,000)
    of it: a false alarm once in a million.
    """
    first, last = wide_identity(jax.random.key(3), 200, 600, 2, jnp.float32)
    assert first.shape == (600, 200) and last.shape == (200, 600)
    assert abs(float(jnp.sum(first[200:] ** 2)) / 400 - 1.0) < 5.0 * np.sqrt(2.0 / 80_000)
