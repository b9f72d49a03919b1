"""What a notebook shows of results: a few lines, never curves or pixels."""

import msgspec

from pxsgmcmc.results import Verdict
from tests.helpers.made_up_results import detection, result
from tests.report.findings import nothing_but_reasons, reported


def test_results_are_a_short_table_with_the_verdict():
    found = result(
        "SGHMC", 0, {"err": 0.03, "nll": 0.125}, shifts={"letters": {"err": 0.25}}, rows=1234
    )
    found = msgspec.structs.replace(
        found,
        out_of_distribution={"photos": detection(auroc=0.9)},
        verdict=Verdict(healthy=True, headline="healthy: T[base] 1.02"),
    )
    assert repr(found).splitlines() == [
        "Results: SGHMC on digits, 20 draws of 1 chain",
        "                  rows   err    nll",
        "  train          1,000  0.03  0.125",
        "  test           1,234  0.03  0.125",
        "  shift letters     50  0.25      -",
        "out of distribution, auroc: photos 0.9",
        "verdict: healthy: T[base] 1.02",
    ]


def test_results_with_everything_stay_within_a_screen():
    full = reported().results
    many = {f"shift number {i} {'long ' * 20}": full.test for i in range(40)}
    many = msgspec.structs.replace(full, shifts=many)
    for found in (full, many):
        lines = repr(found).splitlines()
        assert len(lines) <= 15 and max(map(len, lines)) <= 96
    assert "and 36 more sets" in repr(many)


def test_the_metrics_to_show_first_are_those_of_the_likelihood():
    found = msgspec.structs.replace(result("A", 0, {"own": 1.5, "nll": 2.0}), headline=["own"])
    assert "own" in repr(found) and "nll" not in repr(found)
    assert "own" in repr(result("A", 0, {"own": 1.5}))


def test_diagnostics_say_what_there_is_and_what_not():
    words = repr(reported().diagnostics)
    assert words.count("\n") == 2 and "has distances, spectra, factors" in words
    assert words.endswith("verdict: not healthy: T[base] 1.4, energy R-hat 1.04")
    assert "no temperatures: No state was saved." in repr(nothing_but_reasons().diagnostics)


def test_a_picture_is_one_line_without_its_pixels():
    picture = reported().results.gallery.most_certain[0]
    assert repr(picture).startswith("Picture(row=0, label=") and "pixels" not in repr(picture)


def test_a_verdict_reads_as_its_sentence_and_its_warnings():
    verdict = Verdict(healthy=False, headline="not healthy: T[base] 8", warnings=["Too hot."])
    assert str(verdict) == "not healthy: T[base] 8\n- Too hot."
