"""Adapted HMC on targets whose posterior is known: in closed form, or by long runs of NUTS.

Means and second moments of four chains, with the standard error of their own effective draws, are
compared at |z| < 5: a false-alarm rate of 6e-7 a comparison for a normal z, which estimated
effective sizes make perhaps ten times larger.
"""

from typing import Any, NamedTuple

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px

pytestmark = pytest.mark.slow
LIMIT = 5.0


class Target(NamedTuple):
    """A log density of a vector, the functions whose means are compared, and their true means."""

    log_density: Any
    dimension: int
    of: Any = lambda q: jnp.concatenate([q, q**2])
    truth: np.ndarray | None = None  # None: by NUTS
    leapfrog_steps: int = 10
    acceptance: float = 0.8


def normal(scales):
    scales = np.asarray(scales)
    truth = np.concatenate([np.zeros_like(scales), scales**2])
    return Target(lambda q: -0.5 * jnp.sum((q / scales) ** 2), len(scales), truth=truth)


def correlated(rho=0.9, d=10):
    places = np.arange(d)
    precision = np.linalg.inv(rho ** np.abs(places[:, None] - places))
    truth = np.concatenate([np.zeros(d), np.ones(d)])
    return Target(lambda q: -0.5 * q @ precision @ q, d, truth=truth, leapfrog_steps=20)


def student(freedom=8.0, d=5):
    truth = np.concatenate([np.zeros(d), np.full(d, freedom / (freedom - 2))])
    return Target(
        lambda q: -0.5 * (freedom + 1) * jnp.sum(jnp.log1p(q**2 / freedom)), d, truth=truth
    )


def easy_funnel(d=5):
    """v ~ N(0, 1), x_i ~ N(0, exp(v)): the scale changes by a factor of e, not of e^3."""

    def log_density(q):
        v, x = q[0], q[1:]
        return -0.5 * v**2 - 0.5 * jnp.sum(x**2) * jnp.exp(-v) - 0.5 * (d - 1) * v

    # Squares of x have so heavy tails that their mean says little; log(1 + x^2) is bounded enough.
    truth = np.concatenate([[0.0, 1.0], np.zeros(d - 1)])
    return Target(
        log_density,
        d,
        lambda q: jnp.concatenate([q[:1], q[:1] ** 2, jnp.tanh(q[1:])]),
        truth,
        acceptance=0.9,
    )


def logistic():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(80, 6)) * np.geomspace(0.1, 10.0, 6)
    y = (x @ (1.0 / np.geomspace(0.1, 10.0, 6)) + rng.logistic(size=80) > 0).astype(float)

    def log_density(q):
        z = x @ q
        return jnp.sum(y * z - jnp.logaddexp(0.0, z)) - 0.5 * jnp.sum((q / 10.0) ** 2)

    return Target(log_density, 6)


def eight_schools():
    effect = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    error = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

    def log_density(q):
        mu, tau, z = 5.0 * q[0], jnp.exp(q[1]), q[2:]
        prior = -0.5 * q[0] ** 2 - 0.5 * jnp.sum(z**2) - jnp.log1p((tau / 5.0) ** 2) + q[1]
        return prior - 0.5 * jnp.sum(((effect - mu - tau * z) / error) ** 2)

    return Target(log_density, 10, lambda q: q, acceptance=0.9)


TARGETS = {
    "normal, condition 1e4, 50": normal(np.geomspace(0.01, 1.0, 50)),
    "normal, scales 1e-3 to 1e3": normal(np.geomspace(1e-3, 1e3, 10)),
    "correlated normal": correlated(),
    "student-t": student(),
    "easy funnel": easy_funnel(),
    "logistic regression": logistic(),
    "eight schools": eight_schools(),
}


def nuts_means(target):
    """Means and their standard errors by 4 long chains of NUTS."""

    @jax.jit
    @jax.vmap
    def chain(key):
        warm_key, key = jax.random.split(key)
        warm_up = blackjax.window_adaptation(
            blackjax.nuts, target.log_density, target_acceptance_rate=0.9
        )
        (state, settings), _ = warm_up.run(warm_key, jnp.zeros(target.dimension), 1000)
        nuts = blackjax.nuts(target.log_density, **settings)

        def step(state, key):
            state, _ = nuts.step(key, state)
            return state, target.of(state.position)

        return jax.lax.scan(step, state, jax.random.split(key, 4000))[1]

    with jax.debug_key_reuse(False), jax.numpy_dtype_promotion("standard"):
        with jax.numpy_rank_promotion("allow"):
            return mean_and_error(np.asarray(chain(jax.random.split(jax.random.key(9), 4))))


def mean_and_error(values):
    """Of (chains, draws, quantities)."""
    effective = px.diagnostics.convergence(values).ess_bulk
    return values.mean((0, 1)), values.std((0, 1)) / np.sqrt(effective)


@pytest.mark.parametrize("name", TARGETS)
def test_means_are_right_and_the_acceptance_is_the_one_wished_for(name, in_float64):
    target = TARGETS[name]
    sampler = px.hmc(
        px.from_log_density(target.log_density),
        0.1,
        leapfrog_steps=target.leapfrog_steps,
        jitter=0.5,
        adapt=px.adaptation(1000, acceptance=target.acceptance),
    )
    run = px.sample(
        sampler,
        lambda key: jax.random.normal(key, (target.dimension,)),
        draws=1000,
        cycle_length=3,
        burn_in=1000,
        chains=4,
        progress=False,
    )
    assert run.acceptance.mean() == pytest.approx(target.acceptance, abs=0.06)
    mean, error = mean_and_error(run.stacked(target.of))
    truth, its_error = (target.truth, 0.0) if target.truth is not None else nuts_means(target)
    z = (mean - truth) / np.hypot(error, its_error)
    assert np.all(np.abs(z) < LIMIT), z
