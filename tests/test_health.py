"""One place judges a run: a sick chain is never just done, and no two sentences contradict."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from pxsgmcmc.diagnostics._r_hat import r_hat
from pxsgmcmc.health import (
    R_HAT,
    R_HAT_FALSE_ALARM,
    Evidence,
    Heat,
    fewest_draws,
    highest_r_hat,
    judge,
)


@pytest.mark.parametrize("value", [0.5, 2.0, 8.8])
def test_a_chain_far_from_its_temperature_is_never_healthy(value):
    verdict = judge(Evidence(draws=40, kinetic={"base": Heat(value, 1.0)}, energy_r_hat=1.0))
    assert verdict.healthy is False
    assert any("kinetic temperature of base" in warning for warning in verdict.warnings)


def test_a_temperature_within_chance_of_a_short_chain_is_not_blamed():
    kinetic = {"base": Heat(1.3, 1.0, chance=0.4)}
    assert judge(Evidence(draws=40, kinetic=kinetic, energy_r_hat=1.0)).healthy


@pytest.mark.parametrize("chains, draws", [(1, 8), (1, 20), (2, 10), (4, 4), (4, 40)])
def test_independent_draws_are_rarely_called_unsettled(chains, draws):
    # Of 4,000 sets of independent normals, R_HAT_FALSE_ALARM may be blamed, up to four standard
    # errors; the seed is fixed, so that it is always the same sets.
    values = np.random.default_rng(1).normal(size=(chains, draws, 4000))
    blamed = np.mean(r_hat(values) > highest_r_hat(chains, draws))
    assert blamed <= R_HAT_FALSE_ALARM + 4 * math.sqrt(R_HAT_FALSE_ALARM / 4000)


def test_an_energy_that_rises_all_the_way_is_noticed_from_ten_draws_on():
    for draws in (fewest_draws(1), 20, 40):
        rising = np.arange(draws, dtype=float)[None]
        found = float(r_hat(rising))
        assert found > highest_r_hat(1, draws)
        verdict = judge(Evidence(draws=draws, energy_r_hat=found))
        assert verdict.healthy is False and "has not settled" in verdict.warnings[0]


def test_many_draws_are_held_to_the_usual_limit():
    assert highest_r_hat(4, 100) == R_HAT


def test_an_energy_that_never_changes_is_not_called_infinite():
    verdict = judge(Evidence(draws=20, energy_r_hat=math.nan))
    assert verdict.healthy is False
    assert "never changes" in verdict.warnings[0] and "infinite" not in " ".join(verdict.warnings)


def test_no_advice_contradicts_another():
    temperatures = [None, 0.5, 1.0, 2.0, 8.8]
    distances = [None, 0.001, 1.0]
    hats = [None, 1.0, 3.0, math.nan]
    for kinetic, configurational, d_bar, hat in itertools.product(
        temperatures, temperatures, distances, hats
    ):
        evidence = Evidence(
            draws=40,
            kinetic={} if kinetic is None else {"base": Heat(kinetic, 1.0)},
            configurational={} if configurational is None else {"base": Heat(configurational, 1.0)},
            d_bar=d_bar,
            energy_r_hat=hat,
        )
        advice = " ".join(judge(evidence).warnings)
        assert not ("lower `step_size`" in advice and "raise `step_size`" in advice), advice


@pytest.mark.parametrize("of", ["energy_r_hat", "prediction_r_hat"])
def test_an_r_hat_that_few_draws_may_have_by_chance_is_neither_healthy_nor_blamed(of):
    verdict = judge(Evidence(draws=20, **{of: 1.3}))
    assert verdict.healthy is None and not verdict.warnings
    assert "too few draws" in verdict.headline and "1.39 by chance" in verdict.headline
    for draws, r_hat_of in ((20, 1.4), (100, 1.3)):
        blamed = judge(Evidence(draws=draws, **{of: r_hat_of}))
        assert blamed.healthy is False and "settled" in blamed.warnings[0]


def test_a_warm_chain_whose_energy_falls_is_told_to_wait_before_it_takes_smaller_steps():
    falls = Evidence(draws=40, kinetic={"base": Heat(1.4, 1.0)}, energy_r_hat=2.0)
    falls = replace(falls, energy_ends=(900.0, 500.0))
    rises = replace(falls, energy_ends=(500.0, 900.0))
    settled = replace(falls, energy_r_hat=1.01)
    first, others = judge(falls).warnings[0], [judge(e).warnings[0] for e in (rises, settled)]
    assert "its energy still falls, so raise `burn_in`; if it stays warm, lower" in first
    assert not any("still falls" in warning for warning in others)


@pytest.mark.parametrize("cut_short", [False, True])
def test_chains_that_found_their_settings_are_not_told_to_change_them(cut_short):
    evidence = Evidence(
        draws=40,
        setbacks=1,
        step_size_factor=0.5,
        kinetic={"base": Heat(2.0, 1.0), "factors": Heat(0.5, 1.0)},
        configurational={"base": Heat(0.5, 1.0), "factors": Heat(2.0, 1.0)},
        energy_r_hat=3.0,
        prediction_r_hat=3.0,
        effective_draws=2.0,
        d_bar=0.001,
        singular_factors=("layer1",),
        factors=3,
        found_settings=True,
        cut_short=cut_short,
    )
    advice = " ".join(judge(evidence).warnings)
    assert "begin anew with another seed" in advice
    assert ("`max_seconds`" in advice) is cut_short and ("`draws`" in advice) is not cut_short
    for setting in ("step_size", "friction", "batch_size", "burn_in", "skip", "cycle_length"):
        assert setting not in advice
    assert len(judge(evidence).warnings) == len(
        judge(replace(evidence, found_settings=False)).warnings
    )
