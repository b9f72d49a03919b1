"""Likelihoods against SciPy and by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

import pxsgmcmc as px

from .small import LABELS, PARAMS, TARGETS, X, apply

pytestmark = pytest.mark.usefixtures("in_float64")


def likelihood(U, params, batch):
    return float(jax.jit(U.parts)(params, batch).likelihood)


def test_classification_is_the_cross_entropy_of_the_softmax():
    U = px.classification(apply, data_size=72)
    log_probabilities = scipy.special.log_softmax(np.asarray(apply(PARAMS, X)), axis=1)
    expected = -72 / 24 * log_probabilities[np.arange(24), LABELS].sum()
    assert likelihood(U, PARAMS, (X, LABELS)) == pytest.approx(expected)


def test_classification_by_hand():
    U = px.classification(lambda W, x: x @ W, data_size=1)
    W, x = np.array([[2.0, 0.0]]), np.array([[1.0]])
    assert likelihood(U, W, (x, np.array([0]))) == pytest.approx(np.log1p(np.exp(-2.0)))
    assert likelihood(U, W, (x, np.array([1]))) == pytest.approx(np.log1p(np.exp(2.0)))


def test_classification_survives_logits_that_overflow_a_plain_softmax():
    U = px.classification(lambda W, x: x @ W, data_size=1)
    W = np.array([[1e4, 0.0, -1e4]])
    assert likelihood(U, W, (np.ones((1, 1)), np.array([2]))) == pytest.approx(2e4)


def test_regression_is_the_normal_density():
    U = px.regression(apply, noise=0.7, data_size=48)
    density = scipy.stats.norm(np.asarray(apply(PARAMS, X)), 0.7).logpdf(TARGETS)
    assert likelihood(U, PARAMS, (X, TARGETS)) == pytest.approx(-2.0 * density.sum())


def test_regression_takes_targets_of_any_shape():
    U = px.regression(lambda w, x: w * x, noise=2.0, data_size=3)
    for shape in ((3,), (3, 2), (3, 2, 2)):
        x, y = np.ones(shape), np.full(shape, 0.5)
        density = scipy.stats.norm(0.3 * x, 2.0).logpdf(y).sum()
        assert likelihood(U, np.asarray(0.3), (x, y)) == pytest.approx(-density)


def test_learned_noise_is_the_normal_density_at_its_scale():
    U = px.regression(apply, noise="learned", data_size=24, prior=px.normal(1.0))
    params = px.with_noise(PARAMS, start=0.3)
    density = scipy.stats.norm(np.asarray(apply(PARAMS, X)), 0.3).logpdf(TARGETS)
    assert likelihood(U, params, (X, TARGETS)) == pytest.approx(-density.sum())


def test_the_best_learned_noise_is_the_root_mean_square_of_the_residuals():
    U = px.regression(apply, noise="learned", data_size=24)
    residuals = TARGETS - np.asarray(apply(PARAMS, X))
    best = px.with_noise(PARAMS, start=float(np.sqrt(np.mean(residuals**2))))
    slope = jax.jit(jax.grad(lambda p: U.parts(p, (X, TARGETS)).likelihood))(best)["log_noise"]
    assert abs(float(slope)) < 1e-10


def test_learned_noise_goes_through_expansion_untouched():
    params = px.with_noise(PARAMS)
    plan = px.plan(params)
    assert plan.untouched == ("log_noise",)
    U = px.regression(apply, noise="learned", data_size=24)
    data = (X, TARGETS)
    assert likelihood(U, px.expand(params, plan), data) == pytest.approx(
        likelihood(U, params, data)
    )


def test_any_log_likelihood_can_be_brought():
    def poisson(params, batch):
        x, y = batch
        return jax.scipy.stats.poisson.logpmf(y, jnp.exp(x @ params["w"]))

    rng = np.random.default_rng(0)
    w, x = rng.normal(size=4) * 0.3, X
    y = rng.poisson(1.0, 24).astype(np.float64)
    U = px.posterior(poisson, data_size=24)
    expected = -scipy.stats.poisson(np.exp(x @ w)).logpmf(y).sum()
    assert likelihood(U, {"w": w}, (x, y)) == pytest.approx(expected)


def test_half_precision_networks_have_their_likelihood_in_float32():
    with jax.enable_x64(False):
        half = jax.tree.map(lambda x: jnp.asarray(x, jnp.bfloat16), PARAMS)
        x = jnp.asarray(X, jnp.bfloat16)
        logits = np.asarray(apply(half, x), np.float64)
        U = px.classification(apply, data_size=24)
        found = U.parts(half, (x, LABELS.astype(np.int32))).likelihood
    expected = -scipy.special.log_softmax(logits, axis=1)[np.arange(24), LABELS].sum()
    assert found.dtype == np.float32
    assert float(found) == pytest.approx(expected, rel=1e-6)
