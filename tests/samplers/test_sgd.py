"""Temperature zero: the samplers become gradient descent, with heavy-ball momentum or without."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tests.helpers.closeness import assert_close
from tests.helpers.quick_jit import quick_jit

from pxsgmcmc.samplers import psgld, sgd, sghmc, sgld
from pxsgmcmc.schedules import cyclical

START = np.array([1.0, -2.0, 0.5], np.float32)
CURVATURE = np.array([1.0, 3.0, 10.0], np.float32)
STEPS = 50


def potential(q, batch):
    return jnp.sum(jnp.asarray(CURVATURE) * q**2) / 2 + jnp.sum(q**4) / 4


def gradient(q):
    return CURVATURE * q + q**3


def path(sampler, steps=STEPS) -> np.ndarray:
    """Positions after each step, (steps, 3)."""

    def transition(state, t):
        state, _ = sampler.step(jax.random.fold_in(jax.random.key(0), t), state, None)
        return state, state.position

    start = sampler.init(jnp.asarray(START))
    return np.asarray(quick_jit(lambda s: jax.lax.scan(transition, s, jnp.arange(steps)))(start)[1])


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_sgd_is_the_recursion_written_down(momentum):
    q, m, expected = START.astype(float), np.zeros(3), []
    for _ in range(STEPS):
        m = momentum * m - gradient(q)
        q = q + 0.01 * m
        expected.append(q)
    np.testing.assert_allclose(path(sgd(potential, 0.01, momentum=momentum)), expected, atol=2e-6)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_sgd_is_optax_sgd(momentum):
    transform = optax.sgd(0.01, momentum=momentum)
    params, expected = jnp.asarray(START), []
    state = transform.init(params)
    update, slope = quick_jit(transform.update), quick_jit(jax.grad(potential))
    for _ in range(STEPS):
        updates, state = update(slope(params, None), state)
        params = optax.apply_updates(params, updates)
        expected.append(np.asarray(params))
    np.testing.assert_allclose(path(sgd(potential, 0.01, momentum=momentum)), expected, atol=2e-6)


def test_sghmc_at_zero_temperature_is_heavy_ball():
    h, g = 0.1, 2.0
    cold = sghmc(potential, h, friction=g, temperature=0.0)
    ball = sgd(potential, h**2, momentum=1 - h * g)
    np.testing.assert_allclose(path(cold), path(ball), atol=2e-6)


def test_sgld_at_zero_temperature_is_gradient_descent():
    schedule = cyclical(0.05, 20)
    cold = path(sgld(potential, schedule, temperature=0.0))
    # Descent forgets: a few roundings of each of the last steps are left, not of all fifty.
    assert_close(cold, path(sgd(potential, schedule)), terms=STEPS)


def test_psgld_at_zero_temperature_is_rmsprop():
    settings = dict(temperature=0.0, decay=0.9, epsilon=1e-3, preconditioner_start="zero")
    cold = path(psgld(potential, 0.01, **settings))
    q, v, expected = START.astype(float), np.zeros(3), []
    for _ in range(STEPS):
        v = 0.9 * v + 0.1 * gradient(q) ** 2
        q = q - 0.01 * gradient(q) / (np.sqrt(v) + 1e-3)
        expected.append(q)
    np.testing.assert_allclose(cold, expected, atol=2e-5)


def test_gradient_descent_reaches_the_minimum():
    assert np.max(np.abs(path(sgd(potential, 0.05, momentum=0.5), 400)[-1])) < 1e-6
