"""The page on a search: what it shows, nothing from outside, fits a phone in light and dark."""

import math
import re

import pytest
from msgspec.structs import replace

from pxsgmcmc.report.tuning_page import write_tuning_page
from pxsgmcmc.results import SearchRange, Trial, TrialScore, Tuning, Verdict
from tests.report.browser import PROGRAM, browser

STEP, VARIANCE = "sampler.step_size.peak", "prior.variance"


def made_up(trials=14):
    """A search with trials of every kind."""
    ranges = [
        SearchRange(name=STEP, low=1e-4, high=8e-2, start=2e-3, whole=False, first=(1e-4, 2e-2)),
        SearchRange(name=VARIANCE, low=0.1, high=10.0, start=1.0, whole=False, first=(0.1, 10.0)),
        SearchRange(name="expansion.out", low=0, high=2, start=1, whole=True, first=(0.0, 2.0)),
    ]
    found = []
    for n in range(trials):
        settings = {
            STEP: 1e-4 * 800 ** (n / trials),
            VARIANCE: 0.1 * 100 ** ((7 * n % trials) / trials),
            "expansion.out": n % 3,
        }
        base = 0.2 + abs(math.log(settings[STEP] / 5e-3)) ** 1.5 / 10 + 0.02 * (n % 3)
        lengths = (3, 7, 20)[: 1 + (n % 3 == 0) + (n in (6, 9))]
        scores = [
            TrialScore(
                draws=draws,
                nll=base + 0.3 / draws,
                too_hot=0.4 if n == trials - 2 else -0.5,
                unsettled=0.2 if n == 9 and draws == 20 else None,
                seconds=3.0 + draws,
            )
            for draws in lengths
        ]
        diverged = n == trials - 1
        found.append(
            Trial(
                number=n,
                settings=settings,
                origin="tpe",
                folder=f"trials/{n:04d}",
                wanted=len(scores),
                scores=[] if diverged else scores,
                diverged=diverged,
                verdict=Verdict(healthy=True, headline="healthy: T[base] 1.02"),
            )
        )
    return Tuning(
        config="", asked="{}", search="tpe", lengths=[3, 7, 20], ranges=ranges, start_config="",
        start="pilot 1,000 steps from the start of chain 0: SGHMC: peak 0.002", stable_to=0.1,
        seconds_per_step=1e-3, trials=found, seconds=321.0, chosen=6,
        mattered={STEP: 0.61, VARIANCE: 0.07, "expansion.out": 0.0}, mattered_by="thirds",
        notes=["`prior.variance` = 9.8 lies at the upper edge of its range"],
        method="PX-SGHMC (c=1, d=1)", data="digits", model="mlp, widths 32",
    )  # fmt: skip


@pytest.fixture(scope="module")
def page():
    return write_tuning_page(made_up(), "[sampler]\nname = 'sghmc' # <script>\n")


def test_it_has_a_panel_for_each_setting_the_frontier_and_what_mattered(page):
    titles = re.findall(r"<h3>(.*?)</h3>", page)
    for title in (STEP, VARIANCE, "expansion.out", "Score against time", "Which settings mattered"):
        assert title in titles
    assert page.count("<svg") == 5
    for words in ("Healthy", "Trial 6", "lies at the upper edge", "the test rows were not read"):
        assert words in page
    for state in ("diverged", "off temperature", "not settled", "stopped early", "whole"):
        assert f"<td>{state}</td>" in page


def test_it_needs_nothing_but_itself_and_escapes_what_it_is_given(page):
    assert "<script" not in page and "&lt;script&gt;" in page
    assert not re.search(r"(src|href)=\"(?!#|data:)", page)
    nasty = replace(made_up(), data="<b>x</b>", method="m" * 500)
    assert "<b>x</b>" not in write_tuning_page(nasty)


def test_it_is_written_whatever_came_of_the_search():
    none = replace(made_up(), chosen=None, notes=["No trial was at its temperature."], mattered={})
    assert "None chosen" in write_tuning_page(none)
    assert "None chosen" in write_tuning_page(replace(none, trials=none.trials[-1:]))
    one = replace(made_up(1), chosen=0)
    one = replace(
        one, trials=[replace(one.trials[0], diverged=False, scores=made_up(2).trials[0].scores)]
    )
    assert "validation NLL" in write_tuning_page(one)
    assert write_tuning_page(replace(none, trials=[]))


@pytest.mark.skipif(PROGRAM is None, reason="there is no chromium")
def test_it_fits_a_phone_and_a_desk_in_light_and_dark(page, tmp_path):
    path = tmp_path / "tune.html"
    path.write_text(page, "utf-8")
    with browser(tmp_path / "chromium") as chromium:
        for width, dark in ((390, True), (1280, False)):
            seen = chromium.open(path, width, dark=dark)
            assert seen.complaints == [] and seen.requests == [] and seen.outside == []
            assert seen.scroll_width == width
            assert seen.background == ("rgb(22, 24, 27)" if dark else "rgb(255, 255, 255)")
