"""The prior that keeps the posterior of W: its log-determinants, and the marginal it promises."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import pxsgmcmc as px
from pxsgmcmc.tree import sum_of_squares
from tests.helpers.quick_jit import quick_jit
from tests.helpers.small_network import PARAMS, on_weights, random_position

pytestmark = pytest.mark.usefixtures("in_float64")


def no_data(**settings):
    U = px.potential(lambda params, batch: 0.0 * batch, data_size=1, **settings)
    return jax.jit(lambda position: U(position, np.zeros(1)))


def convolution(window, into, out):
    return {"kernel": np.zeros((window, window, into, out)), "bias": np.zeros(out)}


@pytest.mark.parametrize("temperature", [1.0, 0.25])
def test_each_factor_counts_once_per_column_it_multiplies(temperature):
    """At base zero and factors I, the energy's gradient for a factor is -T columns I."""
    params = {
        "stem": convolution(3, 3, 4),
        "conv": convolution(3, 4, 6),
        "norm": {leaf: np.zeros(6) for leaf in ("scale", "bias", "threshold")},
        "dense": {"kernel": np.zeros((6, 10)), "bias": np.zeros(10)},
    }
    columns = {  # layer: (of P, of Q)
        "stem": (3 * 3 * 3 + 1, None),
        "conv": (3 * 3 * 4 + 1, 3 * 3 * 6),
        "norm": (3, None),
        "dense": (None, 10),
    }
    position = px.expand(params, px.plan(params))
    energy = no_data(prior=on_weights(1.0, temperature=temperature), factor_prior=None)
    gradient = quick_jit(jax.grad(energy))(position).factors
    for layer, sides in columns.items():
        for side, count in zip(("out", "into"), sides, strict=True):
            factors = getattr(gradient[layer], side)
            assert len(factors) == (count is not None)
            for factor in factors:
                np.testing.assert_allclose(factor, -temperature * count * np.eye(len(factor)))


@pytest.mark.parametrize(
    "settings",
    [
        {"out": 1, "into": 1},
        {"out": 2, "into": 3, "expand_input": True, "expand_logits": True},
        {"out": 2, "into": 1, "rank": 2},
        {"out": 0, "into": 1},
    ],
)
def test_the_energy_has_the_log_determinant_of_the_map_from_base_to_weights(settings):
    temperature = 0.3
    position = random_position(**settings)
    flat_base, unravel = ravel_pytree(position.base)

    def weights(flat):
        moved = type(position)(unravel(flat), position.factors, position.layers)
        return ravel_pytree(px.collapse(moved))[0]

    _, log_det = np.linalg.slogdet(quick_jit(jax.jacfwd(weights))(flat_base))
    energy = no_data(prior=on_weights(0.7, temperature=temperature), factor_prior=None)(position)
    energy_of_weights = float(sum_of_squares(px.collapse(position))) / (2 * 0.7)
    assert float(energy) == pytest.approx(energy_of_weights - temperature * log_det, rel=1e-12)


def test_axes_taken_together_count_as_one():
    params = {"query": np.zeros((5, 2, 3))}
    rules = [px.Rule("query", into=0, out=(1, 2))]
    position = random_position(params, rules=rules, expand_input=True, expand_logits=True)
    P, Q = (factors[0] for factors in position.factors["query"])
    volume = 5 * np.linalg.slogdet(P)[1] + 6 * np.linalg.slogdet(Q)[1]
    energy = no_data(prior=on_weights(1.0), factor_prior=None)(position)
    energy_of_weights = float(sum_of_squares(px.collapse(position))) / 2
    assert float(energy) == pytest.approx(energy_of_weights - volume)


def test_without_factors_it_is_the_normal_prior():
    exact, normal = (no_data(prior=make(0.3)) for make in (on_weights, px.priors.normal))
    assert float(exact(PARAMS)) == float(normal(PARAMS))


def test_a_singular_factor_has_infinite_energy():
    position = random_position()
    position.factors["a"].out[0][:] = 1.0
    assert float(no_data(prior=on_weights(1.0))(position)) == np.inf


# One weight W = p v of a normal model with one datum: everything known in closed form.
VARIANCE, NOISE, DATUM, SPREAD = 1.3, 0.8, 1.1, 0.02


def moments(prior, temperature):
    """E W, E W^2, E p, E p^2 and E p W under exp(-U / T), integrated over p and v on a grid."""
    params = {"w": np.zeros((1, 1))}
    plan = px.plan(params, into=0, rules=[px.Rule("w", out=1)], expand_logits=True)
    U = px.potential(
        lambda W, y: -0.5 * ((y - W["w"][0, 0]) / NOISE) ** 2,
        data_size=1,
        prior=prior,
        factor_prior=px.priors.normal(SPREAD, at="identity"),
    )
    start = px.expand(params, plan)

    def energy(p, v):
        factors = {"w": start.factors["w"]._replace(out=(p[None, None],))}
        position = type(start)({"w": v[None, None]}, factors, start.layers)
        return U(position, jnp.full(1, DATUM))

    p, v = np.linspace(0.05, 1.95, 381), np.linspace(-40.0, 40.0, 4_001)
    energies = quick_jit(jax.vmap(jax.vmap(energy, (None, 0)), (0, None)))(p, v)
    density = np.exp(-np.asarray(energies - energies.min()) / temperature)
    W = p[:, None] * v[None, :]
    p = p[:, None]
    return np.array([np.sum(density * f) for f in (W, W**2, p, p**2, p * W)]) / density.sum()


@pytest.mark.parametrize("temperature", [1.0, 0.4])
def test_the_weight_has_the_posterior_of_the_plain_model_and_the_factor_its_prior(temperature):
    precision = 1 / VARIANCE + 1 / NOISE**2
    mean, variance = DATUM / NOISE**2 / precision, temperature / precision
    found = moments(on_weights(VARIANCE, temperature=temperature), temperature)
    expected = [mean, variance + mean**2, 1.0, 1.0 + SPREAD * temperature, mean]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_default_prior_changes_the_posterior_of_the_weight():
    exact, default = (moments(make(VARIANCE), 1.0) for make in (on_weights, px.priors.normal))
    assert np.all(np.abs(default / exact - 1)[:2] > 4e-3)


def test_a_volume_tempered_like_the_rest_would_bend_the_law_of_the_factor():
    wrong = moments(on_weights(VARIANCE, temperature=1.0), 0.4)
    assert abs(wrong[2] - 1.0) > 1e-2
