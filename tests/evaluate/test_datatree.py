"""A run as an ArviZ DataTree: every group is there, and `loo` gives the closed form."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

import pxsgmcmc as px

pytest.importorskip("arviz_base")
pytest.importorskip("arviz_stats")


def regression():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2)).astype(np.float32)
    y = (x @ np.array([1.0, -1.0]) + 0.5 * rng.normal(size=40)).astype(np.float32)
    noise = px.likelihoods.gaussian(0.5)
    return px.Problem(lambda w, x: x @ w["w"], noise, train=(x, y), test=(x[:4], y[:4]))


def posterior(x, y):
    covariance = np.linalg.inv(x.T @ x / 0.25 + np.eye(x.shape[1]))
    return covariance @ x.T @ y / 0.25, covariance


@pytest.fixture(scope="module")
def tree():
    problem = regression()
    mean, covariance = posterior(problem.train.x.astype(float), problem.train.y[:, 0])
    draws = np.random.default_rng(1).multivariate_normal(mean, covariance, (4, 500))
    run = px.from_arrays(
        {"w": draws.astype(np.float32)}, problem, energy=np.zeros((4, 500)) + draws[..., 0]
    )
    return run.to_arviz(functions={"size/of": lambda p: jnp.sum(p["w"] ** 2)}, names="w")


def test_every_group_is_there_with_its_axes(tree):
    assert set(tree.children) == {
        "posterior", "sample_stats", "log_likelihood", "posterior_predictive", "observed_data",
        "predictions",
    }  # fmt: skip
    assert set(tree["posterior"].data_vars) == {"w", "size.of"}
    w = tree["posterior"]["w"].values
    np.testing.assert_allclose(tree["posterior"]["size.of"].values, (w**2).sum(-1), rtol=1e-5)
    assert tree["log_likelihood"]["y"].dims == ("chain", "draw", "data")
    assert tree["posterior_predictive"]["y"].shape == (4, 500, 40)
    problem = regression()
    np.testing.assert_array_equal(tree["observed_data"]["y"].values, problem.train.y[:, 0])
    expected = norm.logpdf(problem.train.y[:, 0], w @ problem.train.x.T, 0.5)
    np.testing.assert_allclose(tree["log_likelihood"]["y"].values, expected, atol=1e-3)


def test_posterior_predictive_draws_have_the_law_of_the_predictive(tree):
    problem = regression()
    x = problem.train.x.astype(float)
    mean, covariance = posterior(x, problem.train.y[:, 0])
    y = tree["posterior_predictive"]["y"].values.reshape(-1, 40)
    z = (y - x @ mean) / np.sqrt(0.25 + np.einsum("ni,ij,nj->n", x, covariance, x))
    # 2,000 independent draws of 40 rows; |z| < 4.5 has a false-alarm rate of 6.8e-6 each.
    assert np.all(np.abs(z.mean(0)) * np.sqrt(len(z)) < 4.5)
    assert np.all(np.abs((z**2).mean(0) - 1) * np.sqrt(len(z) / 2) < 4.5)


def test_loo_is_the_closed_form_of_leaving_each_row_out(tree):
    import arviz_stats

    problem = regression()
    x, y = problem.train.x.astype(float), problem.train.y[:, 0]
    exact = 0.0
    for row in range(len(x)):
        kept = np.arange(len(x)) != row
        mean, covariance = posterior(x[kept], y[kept])
        exact += norm.logpdf(y[row], x[row] @ mean, np.sqrt(0.25 + x[row] @ covariance @ x[row]))
    # The Monte-Carlo error of 2,000 draws is some hundredths.
    assert arviz_stats.loo(tree).elpd == pytest.approx(exact, abs=0.1)


LIKELIHOODS = {
    "categorical": (px.likelihoods.categorical(), np.array([[0.0, 1.0, 2.0]]), lambda y: y == 2),
    "bernoulli": (px.likelihoods.bernoulli(), np.array([[0.0, 1.0]]), lambda y: y == 1),
    "student_t": (px.likelihoods.student_t(1.0), np.array([[3.0, 0.0]]), lambda y: y[:, 0] > 3.0),
    "poisson": (px.likelihoods.poisson(), np.log([[2.0]]), lambda y: y[:, 0] == 0),
}
CHANCES = {
    "categorical": np.exp(2) / np.exp([0, 1, 2]).sum(),
    "bernoulli": np.exp(1) / (1 + np.exp(1)),
    "student_t": 0.5,
    "poisson": np.exp(-2.0),
}


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_targets_are_simulated_with_their_probabilities(name):
    likelihood, row, happens = LIKELIHOODS[name]
    y = likelihood.simulate(np.repeat(row, 20_000, axis=0), np.random.default_rng(0))
    p = CHANCES[name]
    assert abs(happens(y).mean() - p) / np.sqrt(p * (1 - p) / len(y)) < 4.5  # 6.8e-6


def test_what_is_not_wanted_or_not_known_is_left_out(tree):
    run = px.from_arrays({"w": np.zeros((1, 3, 2), np.float32)}, regression())
    small = run.to_arviz(rows=0, train_rows=0)
    assert set(small.children) == {"posterior"}
    some = run.to_arviz(rows=0, train_rows=5)
    assert some["log_likelihood"]["y"].shape == (1, 3, 5)
