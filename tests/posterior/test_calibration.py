"""Simulation-based calibration: truths drawn from the prior rank uniformly among posterior draws.

Conjugate linear regression with a matrix of weights. Each posterior draw is the last state of its
own chain, and all chains of all replicates start at the same point, which is not a draw of
anything: only chains that reach the posterior give uniform ranks. Besides the weights the ranks of
the squared residual are taken, which a sampler that ignored the data would fail.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from tests.helpers.energies import regression

from .bands import band_p_value
from .chains import last_positions

DRAWS = 31
DATA, VARIANCE, NOISE = 8, 0.5, 1.0
INPUTS = np.random.default_rng(5).normal(size=(DATA, 2)).astype(np.float32)
START = {"kernel": jnp.zeros((2, 2))}
PLAN = px.plan(START, expand_input=True, expand_logits=True)


def apply(W, x):
    return x @ W["kernel"]


@functools.cache
def chain(kind, temperature=1.0):
    """(sampler, start, steps); `temperature` other than 1 is a mistake on purpose."""
    settings = {"noise": NOISE, "data_size": DATA}
    if kind == "sghmc":
        U = regression(apply, prior=px.priors.normal(VARIANCE), **settings)
        return px.sghmc(U, 0.05, friction=2.0, temperature=temperature), START, 300
    prior = px.priors.on_weights(px.priors.normal(VARIANCE), temperature=temperature)
    U = regression(
        apply, prior=prior, factor_prior=px.priors.normal(0.02, at="identity"), **settings
    )
    friction = PLAN.groups(base=2.0, factors=1.0)
    sampler = px.sghmc(U, 0.03, friction=friction, temperature=temperature)
    return sampler, px.expand(START, PLAN), 700


@functools.cache
def p_values(kind, replicates, seed, temperature=1.0):
    """Band p-values of each weight and of the squared residual."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(replicates, 2, 2)) * np.sqrt(VARIANCE)
    targets = INPUTS @ truth + rng.normal(size=(replicates, DATA, 2)) * NOISE
    targets = targets.astype(np.float32)

    sampler, start, steps = chain(kind, temperature)
    chains = replicates * DRAWS
    starts = jax.tree.map(lambda x: jnp.broadcast_to(x, (chains, *x.shape)), start)
    batch = (np.broadcast_to(INPUTS, (chains, *INPUTS.shape)), np.repeat(targets, DRAWS, axis=0))
    positions = last_positions(sampler, starts, batch, steps, jax.random.key(seed))
    draws = np.asarray(jax.vmap(px.collapse)(positions)["kernel"])
    draws = draws.reshape(replicates, DRAWS, 2, 2)
    assert np.all(np.isfinite(draws))

    def columns(W):
        residual = np.sum((targets[:, None] - INPUTS @ W) ** 2, axis=(-2, -1))
        return np.concatenate([W.reshape(*W.shape[:2], 4), residual[..., None]], axis=-1)

    ranks = np.sum(columns(draws) < columns(truth[:, None]), axis=1)  # (replicates, columns)
    return np.array([band_p_value(column, DRAWS) for column in ranks.T])


@pytest.mark.parametrize("replicates", [100, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["sghmc", "px_sghmc"])
def test_ranks_stay_inside_the_simultaneous_95_percent_bands(kind, replicates):
    p = p_values(kind, replicates, 0)
    assert p.min() * len(p) > 0.05  # simultaneous over the columns as well


@pytest.mark.parametrize("kind", ["sghmc", "px_sghmc"])
def test_ranks_are_uniform_whatever_the_seed(kind, seed):
    p = p_values(kind, 100, seed)
    assert p.min() * len(p) > 0.001


@pytest.mark.parametrize("kind", ["sghmc", "px_sghmc"])
def test_a_sampler_at_the_wrong_temperature_leaves_the_bands(kind):
    p = p_values(kind, 100, 0, 0.5)
    assert p.min() * len(p) < 0.001


def test_the_bands_hold_uniform_ranks_as_often_as_they_say():
    rng = np.random.default_rng(1)
    inside = [band_p_value(rng.integers(0, DRAWS + 1, 100), DRAWS) > 0.05 for _ in range(1_000)]
    # Binomial of 1,000 at 0.95, five standard deviations; ties make the band a little wide.
    assert 0.915 < np.mean(inside) < 0.99


@pytest.mark.parametrize("power", [0.7, 1.5])
def test_the_bands_refuse_skewed_ranks(power):
    u = np.random.default_rng(2).random(500) ** power
    assert band_p_value((u * (DRAWS + 1)).astype(int), DRAWS) < 0.001
