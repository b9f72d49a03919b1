"""Positions as two vectors: nothing is lost, and a packed chain has the gradients of the other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.posterior import potential
from pxsgmcmc.tuning.default_prior import LAST, default_prior
from pxsgmcmc.tuning.engine.packing import Packing
from pxsgmcmc.tuning.engine.programs import Settings, Spec, factor_prior, make_program
from pxsgmcmc.tuning.engine.settings import at_rest
from tests.helpers.closeness import assert_close
from tests.tuning.test_dear_steps import BATCH, PARAMS, ROWS, keys, problem


def arrays(tree):
    """The same structure with numbers that all differ, on the host."""
    leaves, structure = jax.tree.flatten(tree)
    rng = np.random.default_rng(0)
    return jax.tree.unflatten(
        structure, [rng.normal(size=leaf.shape).astype(leaf.dtype) for leaf in leaves]
    )


def same(one, other):
    assert jax.tree.structure(one) == jax.tree.structure(other)
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def expanded():
    return px.expand(PARAMS, px.plan(PARAMS, out=1, into=1))


@pytest.mark.parametrize("position", [PARAMS, expanded()], ids=["plain", "expanded"])
def test_what_is_packed_comes_back(position):
    position = arrays(position)
    packing = Packing.of(position)
    packed = packing.pack(position)
    assert [leaf.ndim for leaf in jax.tree.leaves(packed)] == [1] * len(jax.tree.leaves(packed))
    assert same(packing.unpack(packed), position)


def test_half_precision_beside_full_comes_back_with_its_dtype():
    position = arrays({"a": jnp.ones((2, 3), jnp.bfloat16), "b": jnp.ones(4)})
    packing = Packing.of(position)
    assert same(packing.unpack(packing.pack(position)), position)


def test_base_and_factors_stay_apart_and_masses_go_with_their_leaves():
    position = arrays(expanded())
    packing = Packing.of(position)
    packed = packing.pack(position)
    assert packed.base.size == sum(leaf.size for leaf in jax.tree.leaves(position.base))
    numbers = np.arange(1.0, 1.0 + len(jax.tree.leaves(position)), dtype=np.float32)
    base, factors = packing.masses(numbers)
    masses = packing.unpack(type(packed)(base, factors, ()))
    for number, leaf in zip(numbers, jax.tree.leaves(masses), strict=True):
        assert np.all(leaf == number)


@pytest.mark.parametrize("name", ["sghmc", "sgld", "sgnht"])
def test_states_of_every_sampler_come_back(name):
    position = arrays(expanded())
    made = make_program(problem(), Spec(None, 1, name, 1, BATCH, "loop"))
    masses = (1.0,) * len(jax.tree.leaves(position))
    settings = Settings(0.01, {"base": 2.0, "factors": 3.0}, masses, 100.0)
    state = jax.tree.map(np.asarray, made.sampler(None, settings, position).init(position))
    packing = Packing.of(position)
    assert same(packing.unpacked_state(packing.packed_state(state)), state)
    # And a step of the program gives a state of the same structure.
    many = jax.tree.map(lambda x: x[None], state)
    x, y = problem().train
    data = x, y, np.full(ROWS, ROWS / BATCH, np.float32)
    rows = np.zeros((1, 2, BATCH), np.int32)
    after, _ = made.advance(
        many, np.int32(2), rows, data, settings.typed(), [keys(0)], np.ones(1, bool)
    )
    assert jax.tree.structure(after) == jax.tree.structure(many)
    assert int(after.step[0]) == 2


def test_a_step_from_rest_is_minus_the_gradient_of_the_energy():
    position = arrays(expanded())
    made = make_program(problem(), Spec(None, 1, "sghmc", 1, BATCH, "loop"))
    masses = (1.0,) * len(jax.tree.leaves(position))
    last = LAST["classification"]
    settings = Settings(1.0, {"base": 0.0, "factors": 0.0}, masses, last).typed()
    x, y = problem().train
    data = x, y, np.full(ROWS, ROWS / BATCH, np.float32)
    rows = np.arange(BATCH, dtype=np.int32)
    state = at_rest(jax.tree.map(lambda x: x[None], position))
    found, _ = made.advance(
        state, np.int32(1), rows[None, None], data, settings, [keys(0)], np.ones(1, bool)
    )
    energy = potential(problem(), prior=default_prior(problem(), last), factor_prior=factor_prior())
    wanted = jax.grad(lambda q: energy(q, (x[:BATCH], y[:BATCH])))(position)
    for momentum, gradient in zip(
        jax.tree.leaves(found.momentum), jax.tree.leaves(wanted), strict=True
    ):
        # A few hundred products and sums, of terms up to twenty times as large as what is left.
        assert_close(-momentum[0], gradient, terms=20 * 300)
