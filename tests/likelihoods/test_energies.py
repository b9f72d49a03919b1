"""Energies of likelihoods against SciPy and by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

import pxsgmcmc as px
from pxsgmcmc.errors import UserError
from tests.helpers.closeness import assert_close
from tests.helpers.energies import classification, regression
from tests.helpers.quick_jit import quick_jit
from tests.helpers.small_network import LABELS, PARAMS, TARGETS, X, apply

pytestmark = pytest.mark.usefixtures("in_float64")


def likelihood(U, params, batch):
    return float(quick_jit(U.parts)(params, batch).likelihood)


def test_classification_is_the_cross_entropy_of_the_softmax():
    U = classification(apply, data_size=72)
    log_probabilities = scipy.special.log_softmax(np.asarray(apply(PARAMS, X)), axis=1)
    expected = -72 / 24 * log_probabilities[np.arange(24), LABELS].sum()
    assert likelihood(U, PARAMS, (X, LABELS)) == pytest.approx(expected)


def test_classification_by_hand():
    U = classification(lambda W, x: x @ W, data_size=1)
    W, x = np.array([[2.0, 0.0]]), np.array([[1.0]])
    assert likelihood(U, W, (x, np.array([0]))) == pytest.approx(np.log1p(np.exp(-2.0)))
    assert likelihood(U, W, (x, np.array([1]))) == pytest.approx(np.log1p(np.exp(2.0)))


def test_classification_survives_logits_that_overflow_a_plain_softmax():
    U = classification(lambda W, x: x @ W, data_size=1)
    W = np.array([[1e4, 0.0, -1e4]])
    assert likelihood(U, W, (np.ones((1, 1)), np.array([2]))) == pytest.approx(2e4)


def test_regression_is_the_normal_density():
    U = regression(apply, noise=0.7, data_size=48)
    density = scipy.stats.norm(np.asarray(apply(PARAMS, X)), 0.7).logpdf(TARGETS)
    assert likelihood(U, PARAMS, (X, TARGETS)) == pytest.approx(-2.0 * density.sum())


def problem(likelihood, y=TARGETS, network=apply):
    return px.Problem(network, likelihood, train=(X, y))


def test_bernoulli_is_the_logistic_density():
    y = (LABELS > 0).astype(np.int32)
    one = problem(px.likelihoods.bernoulli(), y, lambda p, x: apply(p, x)[:, :1])
    p = scipy.special.expit(np.asarray(apply(PARAMS, X))[:, 0])
    expected = -np.sum(np.log(np.where(y == 1, p, 1.0 - p)))
    assert likelihood(px.potential(one), PARAMS, (X, y)) == pytest.approx(expected)


@pytest.mark.parametrize("freedom", [1.0, 4.0])
def test_student_t_noise_is_scipys_density(freedom):
    U = px.potential(problem(px.likelihoods.student_t(0.7, freedom=freedom)))
    density = scipy.stats.t(freedom, np.asarray(apply(PARAMS, X)), 0.7).logpdf(TARGETS)
    assert likelihood(U, PARAMS, (X, TARGETS)) == pytest.approx(-density.sum())


def test_poisson_counts_have_scipys_mass():
    y = np.random.default_rng(0).poisson(1.0, (24, 3)).astype(np.float64)
    U = px.potential(problem(px.likelihoods.poisson(), y))
    mass = scipy.stats.poisson(np.exp(np.asarray(apply(PARAMS, X)))).logpmf(y)
    assert likelihood(U, PARAMS, (X, y)) == pytest.approx(-mass.sum())


def test_a_network_can_give_the_noise_for_each_input():
    both = problem(
        px.likelihoods.gaussian("network"),
        network=lambda p, x: jnp.concatenate([apply(p, x), 0.3 * apply(p, x)], axis=1),
    )
    mean = np.asarray(apply(PARAMS, X))
    density = scipy.stats.norm(mean, np.exp(0.3 * mean)).logpdf(TARGETS)
    U = px.potential(both)
    assert likelihood(U, PARAMS, (X, TARGETS)) == pytest.approx(-density.sum())


def test_units_move_targets_and_leave_the_networks_scale_as_it_is():
    mean, std = np.array([10.0, -3.0, 0.5]), np.array([2.0, 5.0, 0.1])
    raw = (TARGETS * std + mean).astype(np.float32)
    U = px.potential(problem(px.likelihoods.gaussian(0.7, units=(mean, std)), raw))
    located = np.asarray(apply(PARAMS, X)) * std + mean
    density = scipy.stats.norm(located, 0.7 * std).logpdf(raw)
    assert likelihood(U, PARAMS, (X, raw)) == pytest.approx(-density.sum(), rel=1e-6)


LEARNED = px.likelihoods.gaussian("learned", noise_start=0.3, noise_spread=2.0)


def test_learned_noise_is_the_normal_density_at_its_scale():
    learned = problem(LEARNED)
    density = scipy.stats.norm(np.asarray(apply(PARAMS, X)), 0.3).logpdf(TARGETS)
    found = likelihood(px.potential(learned), learned.start(PARAMS), (X, TARGETS))
    assert found == pytest.approx(-density.sum())


def test_a_floor_adds_its_square_to_the_square_of_the_noise():
    floored = px.likelihoods.gaussian("learned", noise_floor=0.4)
    own = {"log_noise": jnp.log(0.3)}
    row = floored.distribution(jnp.zeros((1, 2)), own, 2)
    assert np.exp(np.asarray(row)[0, 2:]) == pytest.approx([0.5, 0.5], rel=1e-6)  # 3, 4, 5
    with pytest.raises(UserError, match="`noise_floor` must be 0 with a known `noise`"):
        px.likelihoods.gaussian(0.1, noise_floor=0.4)


def test_the_best_learned_noise_is_the_root_mean_square_of_the_residuals():
    residuals = TARGETS - np.asarray(apply(PARAMS, X))
    scale = float(np.sqrt(np.mean(residuals**2)))
    learned = problem(px.likelihoods.gaussian("learned", noise_start=scale))
    U, best = px.potential(learned), learned.start(PARAMS)
    slope = quick_jit(jax.grad(lambda p: U.parts(p, (X, TARGETS)).likelihood))(best)
    assert abs(float(slope["likelihood"]["log_noise"])) < 1e-5  # targets are kept in float32


def test_learned_noise_has_a_prior_of_its_own_beside_that_of_the_network():
    learned = problem(LEARNED)
    U = px.potential(learned, prior=px.priors.normal(0.5))
    params = learned.start(PARAMS)
    params["likelihood"]["log_noise"] += 1.0
    squares = sum(np.sum(leaf**2) for leaf in jax.tree.leaves(PARAMS))
    expected = squares / (2 * 0.5) + 0.5 * (1.0 / 2.0) ** 2
    assert float(U.parts(params, (X, TARGETS)).prior) == pytest.approx(expected)
    difference = U.difference(params, learned.start(PARAMS), (X, TARGETS))
    totals = U(params, (X, TARGETS)) - U(learned.start(PARAMS), (X, TARGETS))
    assert float(difference) == pytest.approx(float(totals))


def test_learned_noise_goes_through_expansion_untouched():
    learned = problem(LEARNED)
    params = learned.start(PARAMS)
    plan = px.plan(params)
    assert plan.untouched == ("likelihood/log_noise",)
    U, data = px.potential(learned), (X, TARGETS)
    assert likelihood(U, px.expand(params, plan), data) == pytest.approx(
        likelihood(U, params, data)
    )


def test_a_likelihood_of_ones_own_is_any_function_of_outputs_and_targets():
    own = problem(px.likelihoods.custom(lambda z, y: -jnp.sum(jnp.abs(z - y), axis=1)))
    expected = np.abs(np.asarray(apply(PARAMS, X)) - TARGETS).sum()
    assert likelihood(px.potential(own), PARAMS, (X, TARGETS)) == pytest.approx(expected, rel=1e-6)


def test_any_log_likelihood_can_be_brought():
    def poisson(params, batch):
        x, y = batch
        return jax.scipy.stats.poisson.logpmf(y, jnp.exp(x @ params["w"]))

    rng = np.random.default_rng(0)
    w, x = rng.normal(size=4) * 0.3, X
    y = rng.poisson(1.0, 24).astype(np.float64)
    U = px.potential(poisson, data_size=24)
    expected = -scipy.stats.poisson(np.exp(x @ w)).logpmf(y).sum()
    assert likelihood(U, {"w": w}, (x, y)) == pytest.approx(expected)


def test_half_precision_networks_have_their_likelihood_in_float32():
    with jax.enable_x64(False):
        half = jax.tree.map(lambda x: jnp.asarray(x, jnp.bfloat16), PARAMS)
        x = jnp.asarray(X, jnp.bfloat16)
        logits = np.asarray(apply(half, x), np.float64)
        U = classification(apply, data_size=24)
        found = U.parts(half, (x, LABELS.astype(np.int32))).likelihood
    expected = -scipy.special.log_softmax(logits, axis=1)[np.arange(24), LABELS].sum()
    assert found.dtype == np.float32
    assert_close(found, expected, terms=24 + 8)  # data, and what makes one of their terms
