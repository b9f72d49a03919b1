"""`px.warm_start`: near a mode, in time, the same from the same seed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px

WEIGHTS = np.array([1.5, -2.0, 0.5], np.float32)


def line(rows=200, *, noise=0.1, validation=True, seed=0):
    """A linear regression with known noise, whose mode has a closed form."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows + 50, 3)).astype(np.float32)
    y = (x @ WEIGHTS + noise * rng.normal(size=rows + 50)).astype(np.float32)
    return px.Problem(
        lambda w, x: x @ w,
        px.likelihoods.gaussian(noise=noise),
        train=(x[:rows], y[:rows]),
        validation=(x[rows:], y[rows:]) if validation else None,
    )


def mode(problem, variance):
    """Of the posterior: ridge regression."""
    x, y = np.asarray(problem.train.x, float), np.asarray(problem.train.y, float)[:, 0]
    noise = problem.likelihood.noise
    return np.linalg.solve(x.T @ x / noise**2 + np.eye(3) / variance, x.T @ y / noise**2)


@pytest.mark.parametrize("validation", [True, False])
def test_it_comes_near_the_mode_of_the_posterior(validation):
    problem = line(validation=validation)
    found = px.warm_start(
        problem, jnp.zeros(3), prior=px.priors.normal(1.0), learning_rate=0.03, steps=1000
    )
    # A standard deviation of the posterior is about 0.007 here.
    np.testing.assert_allclose(found, mode(problem, 1.0), atol=0.05, rtol=0.0)


def test_the_prior_is_part_of_the_energy():
    problem = line(rows=20, noise=3.0)
    tight = px.warm_start(
        problem, jnp.ones(3), prior=px.priors.normal(1e-4), learning_rate=0.03, patience=100
    )
    assert float(jnp.max(jnp.abs(tight))) < 0.6  # the narrow prior draws all weights to zero


def test_the_same_seed_gives_the_same_and_another_seed_another():
    problem = line(validation=False)
    first, again, other = (
        px.warm_start(problem, jnp.zeros(3), seed=seed, steps=60, batch_size=20)
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_it_stops_when_the_validation_rows_get_no_better_and_returns_the_best():
    # The targets of the validation rows are those of other weights: each step makes them worse.
    train = line()
    problem = px.Problem(
        train.apply, train.likelihood, train=train.train, validation=(train.train.x, -train.train.y)
    )
    start = jnp.zeros(3)
    assert np.array_equal(px.warm_start(problem, start, patience=2, steps=10_000), start)


def test_no_steps_leave_the_parameters_as_they_are():
    assert np.array_equal(px.warm_start(line(), jnp.ones(3), steps=0), np.ones(3, np.float32))


def test_noise_that_is_sampled_along_is_fitted_too():
    known = line()
    problem = px.Problem(
        known.apply, px.likelihoods.gaussian(), train=known.train, validation=known.validation
    )
    start = problem.start(jnp.zeros(3))
    found = px.warm_start(problem, start, learning_rate=0.03)
    assert jax.tree.structure(found) == jax.tree.structure(start)
    assert float(jnp.exp(found["likelihood"]["log_noise"])) == pytest.approx(0.1, rel=0.3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"problem": None}, "`problem`"),
        ({"params": {"w": "text"}}, "`params`"),
        ({"params": jnp.arange(3)}, "`params`"),
        ({"params": jnp.full(3, jnp.nan)}, "`params`"),
        ({"steps": -1}, "`steps`"),
        ({"patience": 0}, "`patience`"),
        ({"learning_rate": 0.0}, "`learning_rate`"),
        ({"batch_size": 1000}, "`batch_size`"),
        ({"seed": -1}, "`seed`"),
    ],
)
def test_bad_arguments_are_named(change, words):
    arguments = {"problem": line(), "params": jnp.zeros(3), "steps": 40} | change
    with pytest.raises(px.UserError, match=words):
        px.warm_start(arguments.pop("problem"), arguments.pop("params"), **arguments)


def test_one_row_and_no_validation_cannot_be_stopped_in_time():
    problem = line(rows=1, validation=False)
    with pytest.raises(px.UserError, match="validation"):
        px.warm_start(problem, jnp.zeros(3))
