"""A sampler as an optax transformation walks the sampler's own path."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from l2e_networks import random_weights
from tests.helpers.quick_jit import quick_jit

from pxsgmcmc.errors import UserError
from pxsgmcmc.samplers import as_optax, ggmc, hmc, l2e, psgld, sgd, sghmc, sgld, sgnht, sgrhmc
from pxsgmcmc.schedules import cyclical

ONE_GRADIENT = {
    "sgld": sgld,
    "psgld": psgld,
    "sghmc": functools.partial(sghmc, friction={"w": 2.0, "b": 0.5}),
    "sgnht": functools.partial(sgnht, friction=2.0),
    "symmetric sgnht": functools.partial(sgnht, friction=2.0, integrator="symmetric"),
    "sgrhmc": functools.partial(sgrhmc, friction=2.0),
    "l2e": functools.partial(l2e, data_size=3, weights=random_weights(0, scale=30.0)),
    "sgd": functools.partial(sgd, momentum=0.9),
}
START = {"w": jnp.array([[1.0, -1.0], [0.5, 2.0]]), "b": jnp.array([0.3, -0.2])}
STEPS = 30


def potential(position, batch):
    x = batch @ position["w"] + position["b"][None]
    return jnp.sum(x**2) + sum(jnp.sum(p**2) for p in jax.tree.leaves(position))


def batches():
    return jnp.asarray(np.random.default_rng(0).normal(size=(STEPS, 3, 2)), jnp.float32)


def optax_path(transform):
    """The last parameters of an ordinary optax training loop, compiled."""

    def update(carry, batch):
        params, state = carry
        grads = jax.grad(potential)(params, batch)
        updates, state = transform.update(grads, state, params)
        return (optax.apply_updates(params, updates), state), None

    def loop(params):
        return jax.lax.scan(update, (params, transform.init(params)), batches())[0][0]

    return quick_jit(loop)(START)


def own_path(sampler, key):
    def transition(state, batch):
        return sampler.step(jax.random.fold_in(key, state.step), state, batch)[0], None

    start = sampler.init(START)
    return quick_jit(lambda s: jax.lax.scan(transition, s, batches())[0])(start).position


@pytest.mark.parametrize("name", ONE_GRADIENT)
def test_the_path_is_the_samplers_own(name, key):
    build, schedule = ONE_GRADIENT[name], cyclical(0.01, 10)
    transform = as_optax(lambda U: build(U, schedule), key)
    found = optax_path(transform)
    expected = own_path(build(potential, schedule), key)
    for leaf in START:  # params + (new - params) rounds once more than new
        np.testing.assert_allclose(found[leaf], expected[leaf], rtol=1e-5, atol=2e-6)
        assert np.max(np.abs(expected[leaf] - START[leaf])) > 1e-2


def test_it_joins_a_chain_of_transformations(key):
    plain = as_optax(lambda U: sgld(U, 0.01, temperature=0.0), key)
    halved = optax.chain(optax.scale(0.5), as_optax(lambda U: sgld(U, 0.02, temperature=0.0), key))
    for a, b in zip(*(jax.tree.leaves(optax_path(t)) for t in (plain, halved)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_bfloat16_parameters_get_bfloat16_updates(key):
    transform = as_optax(lambda U: sghmc(U, 0.1, friction=1.0), key)
    params = {"w": jnp.ones((2, 2), jnp.bfloat16)}
    updates, _ = jax.eval_shape(lambda p: transform.update(p, transform.init(p), p), params)
    assert updates["w"].dtype == jnp.bfloat16


def test_missing_params_are_named(key):
    transform = as_optax(lambda U: sgld(U, 0.1), key)
    with pytest.raises(UserError, match="`params` must be passed to `update`"):
        transform.update(START, transform.init(START))


def energy(q):
    return sum(jnp.sum(x**2) for x in jax.tree.leaves(q))


@pytest.mark.parametrize(
    "build",
    [
        lambda U: hmc(U, 0.1, leapfrog_steps=1),
        lambda U: hmc(U, 0.1, leapfrog_steps=5),
        lambda U: ggmc(U, 0.1, full_potential=energy, friction=1.0),
        lambda U: ggmc(U, 0.1, full_potential=energy, friction=1.0, window=4),
    ],
    ids=["hmc-1", "hmc-5", "ggmc-1", "ggmc-4"],
)
def test_samplers_that_need_energies_are_refused(build, key):
    transform = as_optax(build, key)
    with pytest.raises(UserError, match="HMC and GGMC need energies") as caught:
        jax.eval_shape(lambda p: transform.update(p, transform.init(p), p), START)
    assert str(caught.value).startswith("`build` must") and "\n" not in str(caught.value)


def test_bad_params_are_named(key):
    transform = as_optax(lambda U: sgld(U, 0.1), key)
    with pytest.raises(UserError, match="`position` must hold floating-point arrays only"):
        transform.init({"w": jnp.arange(3)})
