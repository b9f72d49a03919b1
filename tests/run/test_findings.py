"""Findings in words: what is well raises no warning, what is not names a remedy."""

import math

import msgspec
import pytest

from pxsgmcmc import results
from pxsgmcmc.health import Evidence, Heat, judge
from pxsgmcmc.run.findings import with_findings
from tests.helpers.made_up_results import result

SKIPPED = results.Skipped(reason="too short")
WELL = {"r_hat": 1.01, "ess_bulk": 80.0, "ess_tail": 70.0}
SETTLED = {"draws": 100, "energy_r_hat": 1.01}


def warm(value, low=0.97, high=1.03):
    return results.GroupTemperature(value=value, expected=1.0, low=low, high=high)


def found(**parts):
    nothing = dict.fromkeys(
        ("distances", "spectra", "factors", "connectivity", "plane", "convergence", "temperatures"),
        SKIPPED,
    )
    return results.Diagnostics(subject=result("SGHMC", 0, {}).subject, **{**nothing, **parts})


def convergence(**changes):
    settled = results.ConvergenceResult(
        chains=1, draws=100, energy=WELL, worst=WELL, median=WELL, quantities=500
    )
    return msgspec.structs.replace(settled, **changes)


def temperatures(configurational):
    return results.TemperaturesResult(
        kinetic={"base": warm(1.0)}, configurational={"base": warm(configurational)}
    )


def factors(condition):
    return results.SpectraResult(
        layers={
            "stem P1": results.Extremes(largest=[2.0], smallest=[1.0], condition=[condition]),
            "head Q1": results.Extremes(largest=[2.0], smallest=[1.0], condition=[2.0]),
        }
    )


def warnings(evidence=None, **parts):
    known = {**SETTLED, **(evidence or {})}
    return judge(with_findings(Evidence(**known), found(**parts))).warnings


def test_a_run_that_is_well_or_could_not_be_looked_at_raises_no_warning():
    assert warnings() == []
    assert warnings({"energy_r_hat": None}) == []
    well = found(
        distances=results.DistancesResult(d=[[1.0, 2.0]], d_bar=[[1.3, None]]),
        convergence=convergence(),
        temperatures=temperatures(0.8),  # outside the band, but not by much
        factors=factors(900.0),
    )
    warm_enough = Evidence(**SETTLED, kinetic={"base": Heat(1.05, 1.0, 0.03)})
    verdict = judge(with_findings(warm_enough, well))
    assert verdict.warnings == [] and verdict.healthy is True


@pytest.mark.parametrize(
    ("evidence", "parts", "words"),
    [
        ({"kinetic": {"base": Heat(1.8, 1.0)}}, {}, ["kinetic", "base", "1.8", "`batch_size`"]),
        ({"kinetic": {"base": Heat(0.4, 1.0)}}, {}, ["kinetic", "warmed up", "run longer"]),
        ({}, {"temperatures": temperatures(0.2)}, ["configurational", "spread out"]),
        ({}, {"temperatures": temperatures(3.0)}, ["configurational", "on their way"]),
        ({"energy_r_hat": 1.6}, {}, ["energy", "1.6", "halves"]),
        ({"energy_r_hat": math.inf}, {}, ["energy", "R-hat is infinite", "halves"]),
        (
            {"chains": 2},
            {"convergence": convergence(chains=2, median={**WELL, "r_hat": 2.5})},
            ["Predictions", "2.5", "chains disagree"],
        ),
        (
            {"chains": 2, "draws": 50},
            {"convergence": convergence(median={**WELL, "r_hat": "infinite"})},
            ["Predictions", "infinite", "chains disagree"],
        ),
        (
            {},
            {"convergence": convergence(median={**WELL, "ess_bulk": 9.0})},
            ["100 draws are worth about 9", "more steps between draws"],
        ),
        (
            {},
            {"distances": results.DistancesResult(d=[[0.0, 0.0]], d_bar=[[0.0, 0.0]])},
            ["does not move"],
        ),
        (
            {},
            {"distances": results.DistancesResult(d=[[1.0, 1.0]], d_bar=[[0.01, 0.02]])},
            ["0.015 of their length", "`step_size`"],
        ),
        ({}, {"factors": factors(1e5)}, ["1 of 2 factors are nearly singular", "stem P1"]),
        ({}, {"factors": factors(None)}, ["1 of 2 factors are nearly singular"]),
    ],
)
def test_what_is_wrong_is_one_sentence_with_a_remedy(evidence, parts, words):
    (warning,) = warnings(evidence, **parts)
    assert all(word in warning for word in words), warning
    assert warning.endswith(".")


def test_an_energy_that_never_changes_is_said_to_stand_still_and_not_to_be_infinite():
    (warning,) = warnings({"energy_r_hat": math.nan})
    assert "never changes" in warning and "R-hat" not in warning
    verdict = judge(Evidence(draws=100, energy_r_hat=math.nan))
    assert "infinite" not in verdict.headline and "undefined" in verdict.headline


def test_an_energy_that_is_unknown_is_no_warning_of_its_own():
    assert warnings({"energy_r_hat": None}, convergence=convergence(energy={})) == []


def test_predictions_that_never_change_are_left_to_what_the_distances_say():
    undefined = dict.fromkeys(WELL)
    assert warnings(convergence=convergence(median=undefined, worst=undefined)) == []


def test_a_hot_chain_is_never_told_both_to_lower_and_to_raise_its_step_size():
    said = warnings(
        {"kinetic": {"base": Heat(9.0, 1.0)}},
        distances=results.DistancesResult(d=[[1.0, 1.0]], d_bar=[[0.01, 0.02]]),
        temperatures=temperatures(3.0),
    )
    assert len(said) == 3
    assert "lower `step_size`" in said[0]
    assert not any("raise `step_size`" in sentence for sentence in said)


def test_infinite_and_undefined_numbers_survive_being_written():
    mixing = {"r_hat": "infinite", "ess_bulk": None, "ess_tail": 3.5}
    before = found(convergence=convergence(energy=mixing))
    after = msgspec.json.decode(results.write(before), type=results.Diagnostics)
    assert after.convergence.energy == mixing
