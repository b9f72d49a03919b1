"""The CRPS against numerical integration of its definition, and closed forms."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from pxsgmcmc.metrics import NormalMixture, PoissonMixture, StudentTMixture
from tests.helpers.random_mixtures import observed, random_mixture


def integrated(component, y: float) -> float:
    """Integral of (F(x) - [x >= y])^2 for components along the first axis, piece by piece."""
    points = sorted({y, *np.ravel(component.median()).tolist()})
    below = lambda x: component.cdf(x).mean() ** 2  # noqa: E731
    above = lambda x: component.sf(x).mean() ** 2  # noqa: E731
    pieces = [(below, -np.inf, points[0]), (above, points[-1], np.inf)]
    for left, right in pairwise(points):
        pieces.append((below if right <= y else above, left, right))
    options = {"epsabs": 1e-12, "epsrel": 1e-11, "limit": 400}
    return math.fsum(integrate.quad(f, left, right, **options)[0] for f, left, right in pieces)


@pytest.mark.parametrize("seed", range(3))
def test_a_mixture_of_normals_scores_as_its_definition_says(seed):
    mixture, component = random_mixture("normal", (4, 1, 1), seed)
    y = observed(mixture)
    assert mixture.crps(y)[0, 0] == pytest.approx(integrated(component, y[0, 0]), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_mixture_of_student_t_scores_as_its_definition_says(seed):
    mixture, component = random_mixture("student_t", (4, 1, 1), seed)
    y = observed(mixture)
    assert mixture.crps(y)[0, 0] == pytest.approx(integrated(component, y[0, 0]), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_mixture_of_counts_scores_as_its_definition_says(seed):
    rate = np.exp(np.random.default_rng(seed).uniform(-3.0, 6.0, (5, 8, 1)))
    mixture, y = PoissonMixture(rate), np.array([0, 1, 2, 9, 40, 200, 900, 5000.0])
    k = np.arange(20_000)
    cdf = stats.poisson.cdf(k, rate[..., 0][..., None]).mean(axis=0)
    expected = ((cdf - (k >= y[:, None])) ** 2).sum(axis=1)
    np.testing.assert_allclose(mixture.crps(y)[:, 0], expected, rtol=1e-12)


def test_rates_that_differ_a_hundredfold_do_not_lose_the_large_one():
    # exp(-3000) is 0 in floating point: probabilities cannot all come from the first one.
    rate, k = np.array([20.0, 3000.0]), np.arange(4000)
    cdf = stats.poisson.cdf(k, rate[:, None]).mean(axis=0)
    expected = ((cdf - (k >= 100)) ** 2).sum()
    found = PoissonMixture(rate[:, None, None]).crps([100.0])[0, 0]
    assert found == pytest.approx(expected, rel=1e-12)


def test_one_normal_scores_its_closed_form():
    z = 0.7
    expected = 2.0 * (
        z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / math.sqrt(math.pi)
    )
    mixture = NormalMixture(np.full((3, 1, 1), 1.0), 2.0)  # three draws that agree are one
    assert mixture.crps([1.0 + 2.0 * z])[0, 0] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    ("freedom", "error"),
    [(1.05, 2e-6), (1.1, 1e-9), (1.5, 1e-9), (3.0, 1e-9), (50.0, 1e-9), (1e6, 1e-8)],
)
def test_one_student_t_scores_its_closed_form_from_heavy_tails_to_none(freedom, error):
    z, t = 0.7, stats.t(freedom)
    log_ratio = 2 * math.lgamma(freedom / 2 + 0.5) - 2 * math.lgamma(freedom / 2)
    # B(1/2, ν - 1/2) / B(1/2, ν/2)^2 in gamma functions (Jordan, Krüger and Lerch, 2019)
    ratio = math.exp(log_ratio + math.lgamma(freedom - 0.5) - math.lgamma(freedom))
    ratio /= math.sqrt(math.pi)
    expected = (
        z * (2 * t.cdf(z) - 1)
        + 2 * t.pdf(z) * (freedom + z * z) / (freedom - 1)
        - 2 * math.sqrt(freedom) / (freedom - 1) * ratio
    )
    found = StudentTMixture([[[0.0]]], 1.0, freedom).crps([z])[0, 0]
    assert found == pytest.approx(expected, rel=error)


@pytest.mark.parametrize(("gap", "error"), [(1e2, 1e-8), (1e3, 1e-8), (1e5, 2e-5), (1e8, 2e-5)])
def test_student_t_draws_far_apart_score_as_normals_when_their_tails_are_light(gap, error):
    location = np.array([0.0, 0.3 * gap, gap])[:, None, None]
    expected = NormalMixture(location, 1.0).crps([0.5])[0, 0]
    found = StudentTMixture(location, 1.0, 1e7).crps([0.5])[0, 0]
    assert found == pytest.approx(expected, rel=error)


def test_a_certain_prediction_scores_its_absolute_error():
    assert NormalMixture([[[1.0]]], 1e-12).crps([4.0])[0, 0] == pytest.approx(3.0)


def test_without_a_mean_there_is_no_score():
    found = StudentTMixture([[[0.0, 0.0]]], 1.0, np.array([1.0, 3.0])).crps([[0.0, 0.0]])
    assert np.isnan(found[0, 0]) and np.isfinite(found[0, 1])
