"""Temperatures and their bands, against scipy, coverage counts and SGHMC's exact stationary law."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from pxsgmcmc import diagnostics as diag
from pxsgmcmc.errors import UserError


class Expanded(NamedTuple):
    base: dict
    out: tuple


def test_the_kinetic_estimate_is_the_mean_square_and_the_band_is_chi_square():
    r = np.array([1.0, -2.0, 3.0])
    found = diag.kinetic_temperature(r, temperature=0.5, confidence=0.9, factor=1.2)["all"]
    assert found.estimate == pytest.approx(14 / 3)
    low, high = 0.6 * stats.chi2(3).ppf([0.05, 0.95]) / 3
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.size == 3
    assert not found.as_expected


@pytest.mark.parametrize("n", [1, 50, 300_000])
def test_the_band_is_chi_square_at_any_size(n):
    found = diag.kinetic_temperature(np.zeros(n))["all"]
    assert [found.low, found.high] == pytest.approx(stats.chi2(n).ppf([0.005, 0.995]) / n)


def test_momentum_at_its_temperature_is_in_the_band_as_often_as_promised():
    rng = np.random.default_rng(0)
    inside = [
        diag.kinetic_temperature(r, temperature=2.0, confidence=0.9)["all"].as_expected
        for r in np.sqrt(2.0) * rng.normal(size=(2000, 40))
    ]
    # Binomial(2000, 0.9) leaves these bounds with probability 1e-6.
    low, high = stats.binom(2000, 0.9).ppf([5e-7, 1 - 5e-7])
    assert low <= sum(inside) <= high


def test_groups_are_named_by_a_tree_prefix_or_by_keys():
    momentum = {
        "conv": Expanded({"kernel": jnp.full((2, 2), 3.0), "bias": jnp.ones(4)}, (jnp.zeros(5),)),
        "dense": Expanded({"kernel": jnp.full(2, 2.0)}, ()),
    }
    groups = {name: Expanded("base", "factors") for name in momentum}
    found = diag.kinetic_temperature(momentum, groups)
    assert sorted(found) == ["base", "factors"]
    assert found["base"].estimate == pytest.approx((4 * 9 + 4 * 1 + 2 * 4) / 10)
    assert (found["base"].size, found["factors"].size) == (10, 5)
    by_key = diag.kinetic_temperature(momentum)
    assert (by_key["conv"].size, by_key["dense"].size) == (13, 2)
    assert diag.kinetic_temperature([np.ones(2), np.ones(3)])["all"].size == 5
    hot = diag.kinetic_temperature(momentum, groups, factor={"base": 4.0, "factors": 1.0})
    assert hot["base"].low == pytest.approx(4.0 * found["base"].low)


def test_sghmc_at_a_finite_step_has_its_worked_variances():
    kinetic, configurational = diag.sghmc_factors(0.1, friction=1.0, curvature=3.0)
    assert 0.5 * kinetic == pytest.approx(0.53050398, abs=5e-9)
    assert 0.5 * configurational / 3.0 == pytest.approx(0.16799293, abs=5e-9)


def test_sghmc_is_found_at_its_temperature_only_with_the_factor_of_its_step():
    h, g, c, T, n = 0.1, 1.0, 3.0, 0.5, 100_000
    rng = np.random.default_rng(1)
    q, r = rng.normal(size=(2, n)) * np.sqrt([[T / c], [T]])
    for _ in range(150):
        r = (1 - h * g) * r - h * c * q + np.sqrt(2 * h * g * T) * rng.normal(size=n)
        q = q + h * r
    kinetic, configurational = diag.sghmc_factors(h, g, c)
    band = {"temperature": T, "confidence": 1 - 1e-6}
    assert diag.kinetic_temperature(r, **band, factor=kinetic)["all"].as_expected
    assert not diag.kinetic_temperature(r, **band)["all"].as_expected
    found = diag.configurational_temperature(q, c * q, **band, factor=configurational)["all"]
    assert found.as_expected
    # The step changes the configurational temperature by 0.8%, too little for this band to see.
    assert not diag.configurational_temperature(q, c * q, temperature=0.9 * T)["all"].as_expected


def test_the_configurational_temperature_of_any_density_is_its_temperature():
    # U = q^4 / 4 at T = 0.7: q^4 / (4 T) is Gamma(1/4), exactly.
    T, n = 0.7, 40_000
    rng = np.random.default_rng(2)
    q = (4 * T * rng.gamma(0.25, size=n)) ** 0.25 * rng.choice([-1.0, 1.0], n)
    noisy = q**3 + 5.0 * rng.normal(size=n)  # an unbiased gradient does as well
    for gradient in (q**3, noisy):
        found = diag.configurational_temperature(
            {"w": q}, {"w": gradient}, temperature=T, confidence=1 - 1e-6
        )["w"]
        assert found.as_expected
        assert found.estimate == pytest.approx(T, abs=0.15)


def test_the_central_limit_band_holds_as_often_as_promised():
    rng = np.random.default_rng(3)
    inside = [
        diag.configurational_temperature(q, q, confidence=0.9)["all"].as_expected
        for q in rng.normal(size=(2000, 400))
    ]
    # The spread is estimated and the products are skewed: a little below 90% is right.
    assert 0.86 <= np.mean(inside) <= 0.92


def test_one_coordinate_is_never_out_of_its_band():
    assert diag.configurational_temperature(np.ones(1), np.array([50.0]))["all"].as_expected


def test_batch_means_hold_for_a_chain_with_memory_where_independence_does_not():
    rng = np.random.default_rng(4)
    noise = 0.1 * rng.normal(size=(1000, 800))
    series = np.zeros_like(noise)
    for t in range(1, 800):
        series[:, t] = 0.8 * series[:, t - 1] + noise[:, t]
    series = 1.0 + series

    def coverage(batches):
        return np.mean(
            [
                diag.temperature_over_draws(s, confidence=0.9, batches=batches).as_expected
                for s in series
            ]
        )

    assert 0.84 <= coverage(20) <= 0.93
    assert coverage(800) < 0.6  # taking the draws for independent


def test_batch_means_use_whole_batches_from_the_end():
    found = diag.temperature_over_draws(np.array([100.0, 1.0, 3.0, 1.0, 3.0]), batches=2)
    assert (found.estimate, found.size) == (2.0, 4)
    assert (found.low, found.high) == (1.0, 1.0)  # both batches have the same mean


@pytest.mark.parametrize("batches", [2, 4])
def test_the_band_of_a_mean_over_draws_is_students_with_one_degree_fewer_than_batches(batches):
    series = np.array([0.9, 1.3, 1.0, 1.2, 0.7, 1.1, 1.4, 0.8])
    found = diag.temperature_over_draws(series, temperature=0.5, confidence=0.95, batches=batches)
    means = series.reshape(batches, -1).mean(axis=1)
    standard_error = stats.sem(means)  # with n - 1
    exact = stats.t(batches - 1, loc=0.5, scale=standard_error).ppf([0.025, 0.975])
    assert [found.low, found.high] == pytest.approx(exact, rel=1e-10)


def test_zero_temperature_has_an_empty_band():
    found = diag.kinetic_temperature(np.zeros(4), temperature=0.0)["all"]
    assert (found.estimate, found.low, found.high) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: diag.kinetic_temperature({}), "at least one group"),
        (lambda: diag.kinetic_temperature(np.array([np.nan])), "finite numbers, got nan"),
        (lambda: diag.kinetic_temperature(np.ones(2), confidence=1.0), "`confidence`"),
        (lambda: diag.kinetic_temperature(np.ones(2), temperature=-1.0), "`temperature`"),
        (lambda: diag.kinetic_temperature({"a": np.ones(2)}, factor={"b": 1.0}), "every group"),
        (lambda: diag.kinetic_temperature({"a": np.ones(2)}, {"b": "x"}), "tree prefix"),
        (lambda: diag.configurational_temperature(np.ones(2), np.ones(3)), "same structure"),
        (lambda: diag.configurational_temperature({"a": np.ones(2)}, {"b": np.ones(2)}), "prefix"),
        (lambda: diag.temperature_over_draws(np.ones(3)), "as many draws as `batches`, 20"),
        (lambda: diag.temperature_over_draws(np.full(20, np.nan)), "finite, got nan"),
        (lambda: diag.temperature_over_draws(np.ones(9), batches=1), "`batches`"),
        (lambda: diag.sghmc_factors(1.0, friction=3.0), "small enough for SGHMC to be stable"),
    ],
)
def test_bad_input_is_answered_with_one_sentence(call, words):
    with pytest.raises(UserError) as caught:
        call()
    message = str(caught.value)
    assert words in message
    assert message.endswith(".") and "\n" not in message
