"""The local learning coefficient where it is known."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import pxsgmcmc as px
from pxsgmcmc.diagnostics import learning_coefficient, reduced_rank_coefficient

STANDARD_ERRORS = 5.0  # one false alarm in a million, if errors are normal
RNG = np.random.default_rng(2)


def around(problem, weights, step_size, variance=1.0, draws=400, steps=10):
    temperature = float(np.log(len(problem.train.x)))
    prior = px.priors.normal(variance / temperature, at=weights)  # its energy is tempered too
    potential = px.potential(problem, prior=prior)
    sampler = px.hmc(potential, step_size, leapfrog_steps=8, temperature=temperature)
    return px.sample(
        sampler, weights, problem, draws=draws, cycle_length=steps, burn_in=200,
        batch_size=len(problem.train.x), chains=2, progress=False,
    )  # fmt: skip


def test_of_a_regular_model_it_is_half_the_number_of_parameters():
    x = RNG.normal(size=(200, 4)).astype(np.float32)
    w = np.linalg.lstsq(x, y := x @ np.ones((4, 1)) + RNG.normal(size=(200, 1)), rcond=None)[0]
    weights = jnp.asarray(w, jnp.float32)
    problem = px.Problem(lambda W, x: x @ W, px.likelihoods.gaussian(1.0), train=(x, y))
    run = around(problem, weights, 0.08, variance=100.0)
    found = px.local_learning_coefficient(run, weights)
    assert abs(found.value - 2.0) < STANDARD_ERRORS * found.standard_error
    assert found.standard_error < 0.2 and found.rows == 200 and found.draws == 800


def reduced_rank_mean(strength, inputs, outputs):
    """E[strength |b a'|^2 / 2] of the posterior of one hidden unit, priors standard normal.

    Given a, entries of b are normal with precision strength |a|^2 + 1, and |a|^2 is chi-squared: an
    integral over one number is left, taken over its logarithm.
    """
    t = np.exp(np.linspace(-50.0, 6.0, 20_001))
    s = strength * t
    density = t * scipy.stats.chi2(inputs).pdf(t) * (1.0 + s) ** (-0.5 * outputs)
    return float(np.sum(density * 0.5 * outputs * s / (1.0 + s)) / np.sum(density))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((2, 2, 2, 0), 1.5), ((1, 1, 1, 0), 0.5), ((3, 3, 3, 3), 4.5), ((1, 5, 1, 1), 2.5),
        ((5, 1, 1, 1), 2.5), ((1, 1, 3, 0), 0.5), ((4, 3, 2, 1), 4.0),
    ],
)  # fmt: skip
def test_the_closed_form_of_reduced_rank_regression(sizes, expected):
    assert reduced_rank_coefficient(*sizes) == expected
    M, N, H, r = sizes
    assert reduced_rank_coefficient(N, M, H, r) == expected  # transposed, it is the same model
    # Directions that the true map fixes are regular; what is left is a model of rank 0.
    regular = r * (M + N - r) / 2
    if min(M, N, H) > r:
        assert expected == regular + reduced_rank_coefficient(M - r, N - r, H - r, 0)
    else:
        assert expected == regular


def test_the_closed_form_is_the_limit_of_the_posterior_mean():
    for inputs, outputs in ((2, 3), (3, 2), (1, 4)):
        limit = reduced_rank_coefficient(inputs, outputs, 1, 0)
        gaps = [abs(reduced_rank_mean(s, inputs, outputs) - limit) for s in (1e2, 1e4, 1e8)]
        assert gaps[2] < gaps[1] < gaps[0] and gaps[2] < 0.01


@pytest.mark.slow
def test_of_a_singular_model_it_is_what_the_integral_says():
    n, hidden = 400, 1
    x = np.sqrt(2.0) * np.concatenate([np.eye(2), -np.eye(2)] * (n // 4))  # x'x = n
    problem = px.Problem(
        lambda q, x: x @ q["A"].T @ q["B"].T,
        px.likelihoods.gaussian(1.0),
        train=(x.astype(np.float32), np.zeros((n, 3))),
    )
    weights = {"A": jnp.zeros((hidden, 2)), "B": jnp.zeros((3, hidden))}
    run = around(problem, weights, 0.04, draws=500)
    found = px.local_learning_coefficient(run, weights)
    exact = reduced_rank_mean(n / np.log(n), 2, 3)
    assert abs(found.value - exact) < STANDARD_ERRORS * found.standard_error
    assert found.standard_error < 0.15
    assert found.value + STANDARD_ERRORS * found.standard_error < 2.5  # half of five parameters


def mean_with_noise(x, y, temperature):
    """n β E[L - L(0)] of one hidden unit on these data, priors standard normal, by a sum over A.

    Given A, rows of B are normal with precision |x A'|^2 / T + 1.
    """
    places = np.linspace(-6.0, 6.0, 801)
    A = np.stack(np.meshgrid(places, places), axis=-1).reshape(-1, 2)
    s, c = np.einsum("ki,ij,kj->k", A, x.T @ x, A), A @ (x.T @ y)
    precision = s / temperature + 1.0
    mean = c / temperature / precision[:, None]
    log_weight = -0.5 * (A**2).sum(1) - 0.5 * y.shape[1] * np.log(precision)
    log_weight += 0.5 * precision * (mean**2).sum(1)
    weight = np.exp(log_weight - log_weight.max())
    squares = (mean**2).sum(1) + y.shape[1] / precision
    excess = 0.5 * s * squares - (mean * c).sum(1)
    return float(np.sum(weight * excess) / np.sum(weight) / temperature)


@pytest.mark.slow
def test_with_noise_it_is_what_a_sum_over_a_grid_says_on_these_data():
    n = 400
    rng = np.random.default_rng(0)  # as on the page
    x, y = rng.normal(size=(n, 2)).astype(np.float32), rng.normal(size=(n, 3))
    problem = px.Problem(
        lambda q, x: x @ q["A"].T @ q["B"].T, px.likelihoods.gaussian(1.0), train=(x, y)
    )
    weights, T = {"A": jnp.zeros((1, 2)), "B": jnp.zeros((3, 1))}, float(np.log(n))
    potential = px.potential(problem, prior=px.priors.normal(1.0 / T, at=weights))
    sampler = px.hmc(
        potential, 0.04, leapfrog_steps=10, jitter=0.5, temperature=T,
        adapt=px.adaptation(500, acceptance=0.9),
    )  # fmt: skip
    run = px.sample(
        sampler, weights, problem, draws=500, cycle_length=5, burn_in=500, batch_size=n, chains=4,
        progress=False,
    )  # fmt: skip
    found = px.local_learning_coefficient(run, weights)
    exact = mean_with_noise(x.astype(float), y, T)
    assert exact == pytest.approx(0.873, abs=5e-4)  # which the page quotes
    assert abs(found.value - exact) < STANDARD_ERRORS * found.standard_error
    assert found.standard_error < 0.05


def test_the_standard_error_is_that_of_the_mean_of_correlated_draws():
    rng = np.random.default_rng(1)
    a, errors, values = 0.8, [], []
    for _ in range(200):
        noise = rng.normal(size=(4, 900))
        chain = np.zeros_like(noise)
        for t in range(1, 900):
            chain[:, t] = a * chain[:, t - 1] + noise[:, t]
        found = learning_coefficient(chain, 0.0, rows=1, temperature=1.0)
        errors.append(found.standard_error)
        values.append(found.value)
    # The exact one is 1 / (1 - a) / sqrt(3600); means of stretches of 30 see most of it.
    assert 0.8 < np.mean(errors) / np.std(values) < 1.1


def test_bad_arguments_are_named():
    with pytest.raises(px.UserError, match="`losses` must be finite"):
        learning_coefficient(np.zeros((2, 3)), 0.0, rows=1, temperature=1.0)
    with pytest.raises(px.UserError, match="`rank` must be at most 1"):
        reduced_rank_coefficient(1, 2, 3, 2)


def test_weights_that_are_not_those_of_the_run_are_named():
    x, y = np.zeros((8, 2), np.float32), np.zeros((8, 1), np.float32)
    problem = px.Problem(
        lambda params, x: x @ params["w"], px.likelihoods.gaussian(1.0), train=(x, y)
    )
    start = {"w": jnp.zeros((2, 1))}
    run = px.from_arrays({"w": np.zeros((1, 4, 2, 1), np.float32)}, problem, method="none")
    run.origin["sampler"] = {"temperature": 2.0}
    assert px.local_learning_coefficient(run, start).value == pytest.approx(0.0, abs=1e-6)
    for wrong in ({"w": jnp.zeros((3, 1))}, {"v": start["w"]}, start["w"], None):
        with pytest.raises(px.UserError, match="`weights` must have the names and shapes of a"):
            px.local_learning_coefficient(run, wrong)
    with pytest.raises(px.UserError, match=r"`run` must be a `px\.Run`, got None"):
        px.local_learning_coefficient(None, start)
