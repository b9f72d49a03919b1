"""Findings in words: what is well raises no worry, what is not names a remedy."""

import msgspec
import pytest

from pxsgmcmc import results
from pxsgmcmc.evaluation.worries import worries
from tests.evaluation.made_up import result

SKIPPED = results.Skipped(reason="too short")
WELL = {"r_hat": 1.01, "ess_bulk": 80.0, "ess_tail": 70.0}


def warm(value, low=0.97, high=1.03):
    return results.GroupTemperature(value=value, expected=1.0, low=low, high=high)


def found(**parts):
    nothing = dict.fromkeys(
        ("distances", "spectra", "factors", "connectivity", "plane", "convergence", "temperatures"),
        SKIPPED,
    )
    return results.Diagnostics(subject=result("SGHMC", 0, {}).subject, **{**nothing, **parts})


def convergence(**changes):
    settled = results.Convergence(
        chains=1, draws=100, energy=WELL, worst=WELL, median=WELL, quantities=500
    )
    return msgspec.structs.replace(settled, **changes)


def temperatures(kinetic=1.0, configurational=1.0):
    return results.Temperatures(
        kinetic={"base": warm(kinetic)}, configurational={"base": warm(configurational)}
    )


def factors(condition):
    return results.Spectra(
        layers={
            "stem P1": results.Extremes(largest=[2.0], smallest=[1.0], condition=[condition]),
            "head Q1": results.Extremes(largest=[2.0], smallest=[1.0], condition=[2.0]),
        }
    )


def test_a_run_that_is_well_or_could_not_be_looked_at_raises_no_worry():
    assert worries(found()) == []
    well = found(
        distances=results.Distances(d=[[1.0, 2.0]], d_bar=[[1.3, None]]),
        convergence=convergence(),
        temperatures=temperatures(1.05, 0.8),  # outside the band, but not by much
        factors=factors(900.0),
    )
    assert worries(well) == []


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"temperatures": temperatures(kinetic=1.8)}, ["kinetic", "base", "1.8", "gradient noise"]),
        ({"temperatures": temperatures(kinetic=0.4)}, ["kinetic", "warmed up", "run longer"]),
        ({"temperatures": temperatures(configurational=0.2)}, ["configurational", "spread out"]),
        ({"temperatures": temperatures(configurational=3.0)}, ["configurational", "`step_size`"]),
        ({"convergence": convergence(energy={**WELL, "r_hat": 1.6})}, ["energy", "1.6", "halves"]),
        ({"convergence": convergence(energy={**WELL, "r_hat": None})}, ["energy", "infinite"]),
        (
            {"convergence": convergence(chains=2, median={**WELL, "r_hat": 2.5})},
            ["Predictions", "2.5", "chains disagree"],
        ),
        (
            {"convergence": convergence(median={**WELL, "ess_bulk": 9.0})},
            ["100 draws are worth about 9", "more steps between draws"],
        ),
        (
            {"distances": results.Distances(d=[[0.0, 0.0]], d_bar=[[0.0, 0.0]])},
            ["does not move"],
        ),
        (
            {"distances": results.Distances(d=[[1.0, 1.0]], d_bar=[[0.01, 0.02]])},
            ["0.015 of their length", "`step_size`"],
        ),
        ({"factors": factors(1e5)}, ["1 of 2 factors are nearly singular", "stem P1"]),
        ({"factors": factors(None)}, ["1 of 2 factors are nearly singular"]),
    ],
)
def test_what_is_wrong_is_one_sentence_with_a_remedy(parts, words):
    (worry,) = worries(found(**parts))
    assert all(word in worry for word in words), worry
    assert worry.endswith(".")


def test_an_energy_that_never_changes_or_is_unknown_is_no_worry_of_its_own():
    assert worries(found(convergence=convergence(energy={}))) == []
