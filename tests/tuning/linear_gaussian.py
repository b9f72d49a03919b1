"""A linear model with Gaussian noise, whose gradient noise is the same everywhere, and its chains.

Data y_i are observed around R q, R a rotation, with precision w_j in coordinate j: curvatures are
N w_j + p along the rows of R, p that of the prior, and the gradient of a batch is off by
N w_j (mean of all y - mean of the batch) whatever q is.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import pxsgmcmc as px
from pxsgmcmc.tuning.pilot import Pilot, pilot
from tests.helpers.quick_jit import long_jit

N, COORDINATES, CHAINS = 240, 48, 96
PRIOR_VARIANCE = 0.5
RNG = np.random.default_rng(7)
ROTATION = np.linalg.qr(RNG.normal(size=(COORDINATES, COORDINATES)))[0].astype(np.float32)
PRECISION = np.geomspace(0.02, 2.0, COORDINATES).astype(np.float32)
Y = (RNG.normal(size=(N, COORDINATES)) * 1.5).astype(np.float32)
CURVATURE = N * PRECISION + 1.0 / PRIOR_VARIANCE


def log_likelihood(q, y):
    off = y - (ROTATION @ q)[None]
    return -0.5 * jnp.sum(PRECISION[None] * off**2, axis=1)


POTENTIAL = px.potential(log_likelihood, prior=px.priors.normal(PRIOR_VARIANCE), data_size=N)
MEAN = ROTATION.T @ (N * PRECISION * Y.mean(axis=0) / CURVATURE)


@functools.cache
def measured(batch_size: int, temperature: float) -> Pilot:
    """A pilot whose noise is close to the exact one, and is then put in the place of it.

    Left as it is, chance in the noise of a few hundred batches would be more than that of the
    chains it is compared with.
    """
    found = pilot(
        POTENTIAL,
        jnp.zeros(COORDINATES),
        data=Y,
        batch_size=batch_size,
        temperature=temperature,
        batches=400,
        settle=0,
    )
    terrain = found.measurement.terrain["base"]
    scale = N**2 / batch_size * (1 - batch_size / N)
    exact = scale * PRECISION.astype(float) ** 2 * Y.var(axis=0, ddof=1)  # curvature goes up
    # A relative error of about the root of 2 / (400 batches times some 10 directions that count).
    np.testing.assert_allclose(terrain.noise, exact.mean(), rtol=0.1)
    np.testing.assert_allclose(terrain.curvatures.curvatures, CURVATURE, rtol=1e-3)
    spectrum = terrain.noise_curvatures._replace(shares=exact / exact.sum())
    exactly = terrain._replace(
        noise=exact.mean(), noise_curvatures=spectrum, stiffest_noise=exact[-1]
    )
    measurement = dataclasses.replace(found.measurement, terrain={"base": exactly})
    return dataclasses.replace(found, measurement=measurement)


class Seen(NamedTuple):
    """Means over chains and their standard errors; kinetic NaN without momentum."""

    kinetic: np.ndarray  # (cases, 2)
    configurational: np.ndarray  # (cases, 2)


def run(
    name: str,
    step_sizes: np.ndarray,
    frictions: np.ndarray,
    *,
    batch_size: int,
    temperature: float,
    epochs: int,
    thermostats: np.ndarray | None = None,
    seed: int = 0,
) -> Seen:
    """Temperatures over the second half of many chains, each with shuffled epochs of its own.

    Thermostats take thousands of steps to settle, so they start where they should; if that were
    wrong they would move, and while they do the momentum does not have the temperature.
    """
    rows = jnp.asarray(Y)
    batches = N // batch_size

    def chain(key: Any, h: Any, g: Any, x: Any) -> tuple[Any, Any]:
        settings = {} if name == "sgld" else {"friction": g}
        sampler = getattr(px, name)(POTENTIAL, lambda step: h, temperature=temperature, **settings)
        start_key, key = jax.random.split(key)
        spread = jnp.sqrt(temperature / jnp.asarray(CURVATURE))
        start = MEAN + ROTATION.T @ (spread * jax.random.normal(start_key, (COORDINATES,)))

        def epoch(state: Any, number: Any) -> tuple[Any, Any]:
            order_key, noise_key = jax.random.split(jax.random.fold_in(key, number))
            order = jax.random.permutation(order_key, N).reshape(batches, batch_size)

            def transition(state: Any, inputs: Any) -> tuple[Any, Any]:
                place, index = inputs
                state, _ = sampler.step(jax.random.fold_in(noise_key, place), state, rows[index])
                off = ROTATION @ (state.position - MEAN)
                warm = jnp.mean(CURVATURE * off**2)
                momentum = getattr(state, "momentum", jnp.full(COORDINATES, jnp.nan))
                return state, (jnp.mean(momentum**2), warm)

            state, seen = jax.lax.scan(transition, state, (jnp.arange(batches), order))
            return state, jax.tree.map(jnp.mean, seen)

        state = sampler.init(start)
        if name == "sgnht":
            state = state._replace(thermostat=x)
        _, seen = jax.lax.scan(epoch, state, jnp.arange(epochs))
        return jax.tree.map(lambda values: jnp.mean(values[epochs // 2 :]), seen)

    keys = jax.random.split(jax.random.key(seed), CHAINS)
    case = jax.vmap(jax.vmap(chain, in_axes=(0, None, None, None)), in_axes=(None, 0, 0, 0))
    thermostats = frictions if thermostats is None else thermostats
    arrays = [jnp.asarray(x, jnp.float32) for x in (step_sizes, frictions, thermostats)]
    seen = long_jit(case)(keys, *arrays)

    def summary(values: Any) -> np.ndarray:
        wide = np.asarray(values, np.float64)  # (cases, chains)
        return np.stack([wide.mean(1), wide.std(1, ddof=1) / np.sqrt(CHAINS)], axis=1)

    return Seen(*map(summary, seen))
