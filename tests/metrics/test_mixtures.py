"""Mixtures against scipy.stats, Monte Carlo and numbers worked by hand."""

import numpy as np
import pytest
from scipy import stats

from pxsgmcmc.errors import UserError
from pxsgmcmc.metrics import NormalMixture, PoissonMixture, StudentTMixture
from pxsgmcmc.metrics import _checks as checks
from tests.helpers.random_mixtures import KINDS, observed, random_mixture

LEVELS = [1e-6, 0.05, 0.25, 0.5, 0.9, 1 - 1e-6]


@pytest.mark.parametrize("kind", KINDS)
def test_one_draw_is_the_distribution_of_scipy(kind):
    mixture, component = random_mixture(kind, (1, 6, 2))
    y = observed(mixture)
    log_density = component.logpmf(y) if kind == "poisson" else component.logpdf(y)
    np.testing.assert_allclose(mixture.log_density(y), log_density[0], rtol=1e-12)
    np.testing.assert_allclose(mixture.cdf(y), component.cdf(y)[0], rtol=1e-12)
    np.testing.assert_allclose(mixture.mean(), component.mean()[0], rtol=1e-12)
    np.testing.assert_allclose(mixture.std(), component.std()[0], rtol=1e-12)
    expected = component.ppf(np.reshape(LEVELS, (-1, 1, 1, 1)))[:, 0]
    np.testing.assert_allclose(mixture.quantile(LEVELS), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_several_draws_are_their_average(kind):
    mixture, component = random_mixture(kind)
    y = observed(mixture)
    density = component.pmf(y) if kind == "poisson" else component.pdf(y)
    np.testing.assert_allclose(mixture.log_density(y), np.log(density.mean(axis=0)), rtol=1e-10)
    np.testing.assert_allclose(mixture.cdf(y), component.cdf(y).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(mixture.aleatoric(), component.var().mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(mixture.epistemic(), component.mean().var(axis=0), rtol=1e-12)


@pytest.mark.parametrize("kind", ["normal", "student_t"])
def test_quantiles_invert_the_cdf(kind):
    mixture, _ = random_mixture(kind, (40, 30, 2))
    for level, quantile in zip(LEVELS, mixture.quantile(LEVELS), strict=True):
        np.testing.assert_allclose(mixture.cdf(quantile), level, rtol=0, atol=1e-10)


def test_a_quantile_of_counts_is_the_smallest_that_reaches_its_level():
    mixture, _ = random_mixture("poisson", (40, 30, 2))
    for level, quantile in zip(LEVELS, mixture.quantile(LEVELS), strict=True):
        assert (mixture.cdf(quantile) >= level).all()
        below = np.maximum(quantile - 1.0, 0.0)
        assert ((mixture.cdf(below) < level) | (quantile == 0.0)).all()


@pytest.mark.parametrize("gap", [0.0, 1e-12, 30.0, 1e8])
def test_quantiles_are_found_where_draws_agree_and_where_they_lie_far_apart(gap):
    mixture = NormalMixture([[[5.0]], [[5.0 + gap]]], scale=1.0)
    low, high = mixture.quantile([0.05, 0.95]).ravel()
    if gap < 1.0:
        np.testing.assert_allclose([low, high], 5.0 + np.array([-1, 1]) * 1.6448536269514722)
    else:  # a tenth of each draw's own mass is cut off
        z = stats.norm.ppf(0.1)
        np.testing.assert_allclose([low, high], [5.0 + z, 5.0 + gap - z], rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_have_the_mixtures_mean_variance_and_distribution(kind):
    # 2 targets x 3 numbers x 3 kinds at |z| < 4.9: a false alarm in 10^5 runs, about.
    mixture, _ = random_mixture(kind, (4, 1, 2), seed=3)
    n = 40_000
    samples = mixture.sample(np.random.default_rng(4), n)[:, 0]
    mean, variance = mixture.mean()[0], (mixture.aleatoric() + mixture.epistemic())[0]
    assert (np.abs(samples.mean(axis=0) - mean) < 4.9 * np.sqrt(variance / n)).all()
    if kind != "student_t":  # whose fourth moment may not exist
        squares = (samples - mean) ** 2
        error = squares.std(axis=0) / np.sqrt(n)
        assert (np.abs(squares.mean(axis=0) - variance) < 4.9 * error).all()
    middle = mixture.quantile(0.4)[0]
    share = mixture.cdf(middle[None])[0]
    seen = (samples <= middle).mean(axis=0)
    assert (np.abs(seen - share) < 4.9 * np.sqrt(share * (1 - share) / n)).all()


def test_a_sample_takes_one_draw_for_all_rows():
    mixture = NormalMixture(np.array([0.0, 100.0])[:, None, None] + np.zeros((2, 9, 1)), 1e-3)
    samples = mixture.sample(np.random.default_rng(0), 50)[..., 0].round()
    assert {tuple(row) for row in samples} == {(0.0,) * 9, (100.0,) * 9}


def test_student_t_has_the_moments_its_freedom_allows():
    mixture = StudentTMixture([[[1.0, 1.0, 1.0]]], 2.0, np.array([4.0, 2.0, 0.9]))
    assert mixture.mean()[0].tolist()[:2] == [1.0, 1.0] and np.isnan(mixture.mean()[0, 2])
    assert mixture.aleatoric()[0].tolist() == [8.0, np.inf, np.inf]
    assert mixture.std()[0, 1] == np.inf
    assert np.isfinite(mixture.quantile(0.9)).all()


def test_a_log_density_far_from_every_draw_is_finite():
    mixture = NormalMixture([[[0.0]], [[1.0]]], scale=1e-3)
    expected = -0.5 * 9.9e4**2 - np.log(1e-3) - 0.5 * np.log(2 * np.pi) - np.log(2)
    np.testing.assert_allclose(mixture.log_density([100.0]), [[expected]])


def test_a_rate_of_zero_gives_all_probability_to_zero():
    mixture = PoissonMixture([[[0.0], [0.0]]])
    assert mixture.log_density([0, 1]).ravel().tolist() == [0.0, -np.inf]
    assert mixture.quantile(0.99).ravel().tolist() == [0.0, 0.0]


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_of_rows_change_nothing(kind, monkeypatch):
    mixture, _ = random_mixture(kind, (3, 11, 2))
    y = observed(mixture)

    def everything():
        scores = [mixture.log_density(y), mixture.cdf(y), mixture.crps(y)]
        return [mixture.mean(), mixture.std(), *scores, *mixture.quantile([0.1, 0.8])]

    whole = everything()
    monkeypatch.setattr("pxsgmcmc.metrics.predictive_mixture.BLOCK_ENTRIES", 12)
    assert len(list(mixture.blocks())) == 6
    for a, b in zip(whole, everything(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert checks.BLOCK_ENTRIES > 12


def test_parameters_are_broadcast_and_single_precision_is_enough():
    mean = np.zeros((3, 4, 2), np.float32)
    for scale in (2.0, np.full(2, 2.0), np.full((3, 1, 1), 2.0, np.float32)):
        mixture = NormalMixture(mean, scale)
        assert mixture.shape == (3, 4, 2) and mixture.std().dtype == np.float64
        assert (mixture.std() == 2.0).all()
    assert repr(mixture) == "NormalMixture(draws=3, rows=4, targets=2)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NormalMixture(np.zeros((2, 3)), 1.0), "axes (draws, rows, targets)"),
        (lambda: NormalMixture(np.zeros((2, 0, 1)), 1.0), "none of them empty"),
        (lambda: NormalMixture(np.zeros((2, 3, 1)), np.ones((2, 4, 1))), "broadcast to one shape"),
        (lambda: NormalMixture(np.zeros((2, 3, 1)), 0.0), "`scale` must be finite and greater"),
        (lambda: NormalMixture([[[np.nan]]], 1.0), "`mean` must be finite, got nan at index"),
        (lambda: NormalMixture([[["a"]]], 1.0), "`mean` must hold real numbers"),
        (lambda: StudentTMixture([[[0.0]]], 1.0, -1.0), "`freedom` must be finite and greater"),
        (lambda: PoissonMixture([[[-1.0]]]), "`rate` must be finite and at least 0"),
        (lambda: PoissonMixture([[[1.0]]]).cdf([0.5]), "`y` must hold counts"),
        (lambda: NormalMixture([[[0.0]]], 1.0).cdf([1.0, 2.0]), "`y` must have shape (1, 1)"),
        (lambda: NormalMixture([[[0.0]]], 1.0).cdf([np.inf]), "`y` must be finite"),
        (lambda: NormalMixture([[[0.0]]], 1.0).quantile(1.0), "`q` must be a level between"),
        (lambda: NormalMixture([[[0.0]]], 1.0).quantile([]), "`q` must be a level between"),
        (lambda: NormalMixture([[[0.0]]], 1.0).sample(np.random.default_rng(0), 0), "`size`"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(UserError) as raised:
        make()
    assert message in str(raised.value)
