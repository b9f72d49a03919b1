"""The laws against the worked numbers of their derivation and against brute-force moments."""

import math

import numpy as np
import pytest

from pxsgmcmc.tuning import correlation, cycles, laws
from tests.tuning.shuffled_moments import mean_moments


def one_direction(c, *, v=0.0, batches=1.0):
    spectrum = laws.Spectrum(np.array([c]), np.ones(1))
    return laws.GroupTerrain(1, spectrum, v, spectrum, c, v, c, batches)


def sghmc_step(c, h, g):
    return np.array([[1 - h * h * c, h * (1 - h * g)], [-h * c, 1 - h * g]]), np.array([[h], [1.0]])


@pytest.mark.parametrize("c", [0.3, 3.0, 90.0])
@pytest.mark.parametrize("g", [0.5, 4.0, 12.0])
@pytest.mark.parametrize("batches", [2, 5, 16])
def test_sghmc_has_the_moments_of_its_recursion_in_shuffled_noise(c, g, batches):
    h, T, v = 0.1, 0.7, 30.0
    A, B = sghmc_step(c, h, g)
    heat = h * h * mean_moments(A, B, v, batches)
    thermal = laws.sghmc_temperatures(one_direction(c), h, friction=g, temperature=T)
    found = laws.sghmc_temperatures(
        one_direction(c, v=v, batches=batches), h, friction=g, temperature=T
    )
    assert found.kinetic == pytest.approx(thermal.kinetic + heat[1, 1], rel=1e-9)
    expected = thermal.configurational + c * heat[0, 0]
    assert found.configurational == pytest.approx(expected, rel=1e-9)
    assert found.stiffest == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("c", [0.3, 3.0, 15.0])
@pytest.mark.parametrize("batches", [2, 5, 16])
def test_sgld_has_the_moments_of_its_recursion_in_shuffled_noise(c, batches):
    h, T, v = 0.1, 0.7, 30.0
    heat = mean_moments(np.array([[1 - h * c]]), np.array([[h]]), v, batches)[0, 0]
    found = laws.sgld_temperatures(one_direction(c, v=v, batches=batches), h, temperature=T)
    assert found.configurational == pytest.approx(T / (1 - h * c / 2) + c * heat, rel=1e-9)
    assert math.isnan(found.kinetic)


def test_independent_batches_have_the_worked_numbers():
    # Var q of SGLD and SGHMC, and the root and Var q of SGNHT with n = 200 and v = 20.
    sgld = laws.sgld_temperatures(one_direction(2.0, v=5.0), 0.1, temperature=0.7, shuffled=False)
    assert sgld.configurational == pytest.approx((0.7 + 0.1 * 5.0 / 2) / 0.9)
    sgnht = one_direction(4.0, v=20.0)
    settings = {"friction": 1.0, "temperature": 0.5, "shuffled": False}
    assert laws.sgnht_friction(sgnht, 0.05, **settings) == pytest.approx(2.1174, abs=5e-5)
    found = laws.sgnht_temperatures(sgnht, 0.05, **settings)
    assert found.configurational / 4.0 == pytest.approx(0.11838, abs=5e-6)
    assert found.kinetic == pytest.approx(0.5, rel=1e-9)


def test_noise_that_an_epoch_takes_back_is_nearly_gone_in_a_slow_momentum():
    slow = {"friction": 0.01, "temperature": 1.0}
    terrain = one_direction(0.5, v=10.0, batches=10.0)
    alone = laws.sghmc_temperatures(terrain, 0.01, **slow, shuffled=False).kinetic - 1.0
    shuffled = laws.sghmc_temperatures(terrain, 0.01, **slow).kinetic - 1.0
    assert shuffled < 0.01 * alone


@pytest.mark.parametrize("c", [0.3, 3.0, 90.0])
@pytest.mark.parametrize("g", [0.5, 12.0])
def test_autocorrelation_times_are_the_sums_of_correlations(c, g):
    h = 0.1
    A, B = sghmc_step(c, h, g)
    n = np.linalg.solve(np.eye(4) - np.kron(A, A), (B @ B.T).ravel()).reshape(2, 2)
    total, power = 1.0, np.eye(2)
    for _ in range(20_000):
        power = power @ A
        total += 2.0 * (power @ n)[0, 0] / n[0, 0]
    assert correlation.sghmc_autocorrelation(c, h, g) == pytest.approx(total, rel=1e-6)


def test_the_stability_limit_is_where_the_modes_leave_the_unit_circle():
    for c, g in [(3.0, 1.0), (100.0, 0.0), (0.5, 20.0)]:
        limit = laws.sghmc_limit(c, g)
        for share, stable in [(0.999, True), (1.001, False)]:
            A, _ = sghmc_step(c, share * limit, g)
            assert (np.abs(np.linalg.eigvals(A)).max() <= 1.0 + 1e-12) == stable
    terrain = one_direction(4.0, v=1.0)
    assert laws.sgld_temperatures(terrain, 0.5) == laws.UNSTABLE
    assert laws.sghmc_temperatures(terrain, 1.1, friction=0.1) == laws.UNSTABLE
    assert laws.sghmc_temperatures(terrain, 0.1, friction=0.0) == laws.UNSTABLE
    assert math.isnan(laws.sgnht_friction(terrain, 0.5, friction=5.0))


def test_a_cycle_of_equal_steps_has_the_law_of_that_step():
    terrain = one_direction(3.0, v=5.0, batches=math.inf)
    for friction in (None, 2.0):
        found = cycles.cycle_temperatures(terrain, np.full(700, 0.1), friction=friction)
        law = laws.sgld_temperatures(terrain, 0.1)
        if friction is not None:
            law = laws.sghmc_temperatures(terrain, 0.1, friction=friction)
            assert found.kinetic == pytest.approx(law.kinetic, rel=1e-9)
        assert found.configurational == pytest.approx(law.configurational, rel=1e-9)


def test_a_cosine_cycle_has_the_moments_of_its_recursion():
    c, g, v, T = 20.0, 1.5, 40.0, 0.8
    steps = cycles.cosine_cycle(0.1, 60)
    S, seen = np.eye(2), []
    for cycle in range(60):
        for h in steps:
            A, B = sghmc_step(c, h, g)
            S = A @ S @ A.T + (2 * h * g * T + h * h * v) * (B @ B.T)
            if cycle == 59:
                seen.append((S[1, 1], c * S[0, 0]))
    terrain = one_direction(c, v=v, batches=math.inf)
    found = cycles.cycle_temperatures(terrain, steps, friction=g, temperature=T)
    assert (found.kinetic, found.configurational) == pytest.approx(np.mean(seen, axis=0), rel=1e-9)


def test_a_long_cycle_is_followed_by_its_phases(monkeypatch):
    terrain = one_direction(2e4, v=1e4, batches=math.inf)
    steps = cycles.cosine_cycle(3e-3, 2000)
    some = cycles.cycle_temperatures(terrain, steps, friction=5.0)
    monkeypatch.setattr(cycles, "MOST_PHASES", 2000)
    every = cycles.cycle_temperatures(terrain, steps, friction=5.0)
    assert some.kinetic == pytest.approx(every.kinetic, rel=2e-3)
    assert some.configurational == pytest.approx(every.configurational, rel=2e-3)
