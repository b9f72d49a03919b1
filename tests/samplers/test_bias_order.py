"""The bias of the position's variance falls with the first power of h in SGLD, the second in SGHMC.

Measured by simulation. The bias at small h is far below the noise of a plain estimate, so each
chain runs beside a control driven by the same normals: the sampler with its integrator replaced by
the exact flow, a linear recursion x <- E x + b z whose variance a solver knows. The estimate is
unbiased whatever the sampler does, and its error is small because sampler and control stay close.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from laws import stationary_covariance
from tests.helpers.quick_jit import long_jit

from pxsgmcmc.samplers import sghmc, sgld
from pxsgmcmc.tree import normal_like

LAM, FRICTION, T, CHAINS = 1.0, 0.3, 1.0, 65_536
# The slopes at these step sizes are off the limit h -> 0 by at most 0.075, and their Monte-Carlo
# error is below 0.015: the bound leaves five standard errors, a false alarm below 1e-6.
BOUND = 0.15


def sgld_control(h: float) -> tuple[np.ndarray, np.ndarray]:
    """The flow of -lam q in place of the Euler step, the noise in the middle of it."""
    return np.array([[np.exp(-h * LAM)]]), np.array([np.exp(-h * LAM / 2) * np.sqrt(2 * h * T)])


def sghmc_control(h: float) -> tuple[np.ndarray, np.ndarray]:
    """A rotation of (q, m) in place of half kick, drift, half kick.

    SGHMC's momentum belongs to the middle of a step: half a kick comes before and after friction.
    """
    w = np.sqrt(LAM)
    rotate = np.array([[np.cos(w * h), np.sin(w * h) / w], [-w * np.sin(w * h), np.cos(w * h)]])
    half_kick = np.array([[1.0, 0.0], [-h * LAM / 2, 1.0]])
    damp = np.diag([1.0, 1 - h * FRICTION])
    push = np.array([0.0, np.sqrt(2 * h * FRICTION * T)])
    return rotate @ half_kick @ damp @ np.linalg.inv(half_kick), rotate @ push


def measured_slope(build, control, steps, sizes, seed) -> tuple[float, float]:
    """Slope of log |Var q - T / lam| against log h, and its Monte-Carlo standard error."""
    key = jax.random.key(seed)
    recursions = [control(h) for h in sizes]
    known = [stationary_covariance(E, np.outer(b, b))[0, 0] for E, b in recursions]

    def excess(h, E, b):
        sampler = build(lambda q, _: jnp.sum(LAM * q**2 / 2), lambda step: h)

        def transition(t, carry):
            state, x = carry
            key_t = jax.random.fold_in(key, t)
            z = normal_like(jax.random.fold_in(key, t), state.position)
            return sampler.step(key_t, state, None)[0], E @ x + jnp.outer(b, z)

        start = sampler.init(jnp.zeros(CHAINS)), jnp.zeros((len(b), CHAINS))
        state, x = jax.lax.fori_loop(0, steps, transition, start)
        return state.position**2 - x[0] ** 2

    E, b = (jnp.asarray(np.stack(part), jnp.float32) for part in zip(*recursions, strict=True))
    difference = long_jit(jax.vmap(excess))(jnp.asarray(sizes, jnp.float32), E, b)
    bias = np.asarray(difference, float) + np.array(known)[:, None] - T / LAM  # (sizes, chains)
    centred = np.log(sizes) - np.mean(np.log(sizes))
    weights = centred / np.sum(centred**2)
    slope = weights @ np.log(np.abs(bias.mean(1)))
    influence = weights @ (bias / bias.mean(1, keepdims=True))  # delta method, chain by chain
    return slope, influence.std() / np.sqrt(CHAINS)


def test_sgld_is_of_first_order(seed):
    def build(potential, h):
        return sgld(potential, h, temperature=T)

    slope, error = measured_slope(build, sgld_control, 250, [0.025, 0.05, 0.1, 0.2], seed)
    assert error < 0.015
    assert slope == pytest.approx(1.0, abs=BOUND)


def test_sghmc_is_of_second_order(seed):
    def build(potential, h):
        return sghmc(potential, h, friction=FRICTION, temperature=T)

    slope, error = measured_slope(build, sghmc_control, 300, [0.1, 0.14, 0.2, 0.28], seed)
    assert error < 0.015
    assert slope == pytest.approx(2.0, abs=BOUND)
