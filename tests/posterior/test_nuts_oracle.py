"""The law of the expanded chains against BlackJAX's NUTS on the same density, and on the plain one.

Last states of many independent chains, from starts that differ between the two sides, compared by
two-sample Kolmogorov-Smirnov tests. False-alarm rate 0.001 for each model, over all its columns.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from tests.helpers.energies import classification, regression
from tests.helpers.small_network import on_weights

from .chains import last_positions, nuts, per_chain, scattered, smallest_p_value

ALPHA = 0.001
CHAINS = 600


class Model(NamedTuple):
    """A small model with its data; `look` says what is compared."""

    likelihood: Any  # settings -> Posterior
    params: Any
    data: Any
    variance: float
    look: Any  # params -> (columns,)


def linear_regression():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(6, 2)).astype(np.float32)
    y = (x @ np.array([[1.0, -0.5], [0.3, 0.8]]) + rng.normal(size=(6, 2))).astype(np.float32)
    likelihood = functools.partial(regression, lambda W, x: x @ W["kernel"], noise=1.0, data_size=6)
    params = {"kernel": jnp.zeros((2, 2))}
    return Model(likelihood, params, (x, y), 0.5, lambda W: W["kernel"].ravel())


def logistic_regression():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(10, 3)).astype(np.float32)
    y = (x @ np.array([1.5, -1.0, 0.0]) + rng.logistic(size=10) > 0).astype(np.int32)
    likelihood = functools.partial(classification, lambda W, x: x @ W["kernel"], data_size=10)
    params = {"kernel": jnp.zeros((3, 2))}
    return Model(likelihood, params, (x, y), 1.0, lambda W: W["kernel"].ravel())


def hidden_layer():
    """Its weights are identified up to symmetries, so functions are compared."""
    rng = np.random.default_rng(3)
    x = np.stack([np.linspace(-1.5, 1.5, 6), np.ones(6)], axis=1).astype(np.float32)
    y = (np.sin(2 * x[:, :1]) + 0.3 * rng.normal(size=(6, 1))).astype(np.float32)
    grid = jnp.array([[-1.0, 1.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])  # ones for a bias

    def apply(W, x):
        return jnp.tanh(x @ W["a"]["kernel"]) @ W["b"]["kernel"]

    likelihood = functools.partial(regression, apply, noise=0.5, data_size=6)
    params = {"a": {"kernel": jnp.zeros((2, 3))}, "b": {"kernel": jnp.zeros((3, 1))}}
    return Model(likelihood, params, (x, y), 0.5, lambda W: apply(W, grid)[:, 0])


MODELS = {
    build.__name__: build() for build in (linear_regression, logistic_regression, hidden_layer)
}


class Problem(NamedTuple):
    """One model with one prior: its energy, expanded start and chains of both kinds."""

    model: Model
    start: Any
    energy: Any
    sghmc: Any


@functools.cache  # so that every seed reuses what was compiled
def problem(name, prior, expanded=True):
    model = MODELS[name]
    start = model.params
    if expanded:
        alone = "kernel" in model.params  # one layer is both ends of the model
        plan = px.plan(model.params, expand_input=alone, expand_logits=alone)
        start = px.expand(model.params, plan)
    make = {"normal": px.priors.normal, "exact": on_weights}[prior]
    factor_prior = {
        "normal": px.priors.normal(0.5),
        "exact": px.priors.normal(0.01, at="identity"),
    }[prior]
    U = model.likelihood(prior=make(model.variance), factor_prior=factor_prior)
    data = model.data

    def energy(position):
        return U(position, data)

    friction = px.groups(start, base=2.0, factors=1.0)
    return Problem(model, start, energy, px.sghmc(U, 0.03, friction=friction))


def draws(problem, positions):
    """What the model looks at, (draws, columns)."""
    return np.asarray(jax.jit(jax.vmap(lambda q: problem.model.look(px.collapse(q))))(positions))


def by_sghmc(problem, key):
    start_key, key = jax.random.split(key)
    starts = scattered(problem.start, CHAINS, start_key, by=0.1)
    data = per_chain(problem.model.data, CHAINS)
    return draws(problem, last_positions(problem.sghmc, starts, data, 1_200, key))


def by_nuts(problem, key):
    start_key, key = jax.random.split(key)
    starts = scattered(problem.start, CHAINS, start_key, by=0.5)
    return draws(problem, nuts(problem.energy, starts, step_size=0.1, steps=30, key=key))


def keys(seed):
    return jax.random.split(jax.random.key(seed))


# NUTS on an expanded network takes most of a minute to compile: two of the three run with the slow.
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n != "linear_regression")) for n in MODELS]
)
def test_px_sghmc_samples_the_expanded_density(name, seed):
    expanded = problem(name, "normal")
    key, oracle_key = keys(seed)
    assert smallest_p_value(by_sghmc(expanded, key), by_nuts(expanded, oracle_key)) > ALPHA


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n != "linear_regression")) for n in MODELS],
)
def test_with_the_exact_prior_px_sghmc_samples_the_posterior_of_the_plain_model(name, seed):
    key, oracle_key = keys(100 + seed)
    plain = by_nuts(problem(name, "normal", expanded=False), oracle_key)
    assert smallest_p_value(by_sghmc(problem(name, "exact"), key), plain) > ALPHA


def test_the_default_prior_samples_another_posterior_and_the_test_sees_it():
    key, oracle_key = keys(200)
    name = "linear_regression"
    plain = by_nuts(problem(name, "normal", expanded=False), oracle_key)
    assert smallest_p_value(by_sghmc(problem(name, "normal"), key), plain) < 1e-6
