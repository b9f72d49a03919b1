"""What a reader sees first: the verdict, the numbers with their spread, and words explained."""

import re
from statistics import fmean, stdev

import msgspec
import pytest

from pxsgmcmc.report import drawing, write_report
from pxsgmcmc.report.page import PageSection
from pxsgmcmc.report.reported import by_method
from pxsgmcmc.report.tables import Cell, Table
from pxsgmcmc.report.verdicts import judge, verdict_of
from pxsgmcmc.results import Extremes, SpectraResult, Verdict
from tests.report.findings import HOSTILE, bare, reported
from tests.report.found_in_regressions import regression
from tests.report.test_page import Page

ILL = Verdict(
    healthy=False, headline="It is too hot.", warnings=["One.", "Two.", "Three.", "Four."]
)


@pytest.fixture(autouse=True)
def figures_are_left_out(request, monkeypatch):
    """These tests read words; only the pages that all tests share are drawn."""
    if "pages" not in request.fixturenames:
        monkeypatch.setattr(drawing, "to_svg", lambda figure, name, label: "<svg></svg>")


def header(page: str) -> str:
    return re.search(r"<header>.*?</header>", page, re.DOTALL)[0]


def with_verdict(run, verdict, *, diagnosed: bool):
    if diagnosed:
        changed = msgspec.structs.replace(run.diagnostics, verdict=verdict)
        return run._replace(diagnostics=changed)
    return run._replace(results=msgspec.structs.replace(run.results, verdict=verdict))


def test_the_verdict_stands_in_the_header_with_its_gravest_warnings():
    page = write_report([with_verdict(reported(), ILL, diagnosed=True)])
    words = Page(header(page)).words
    assert "Not healthy It is too hot. One. Two. Three. and 1 more" in words
    assert 'class="verdict ill"' in page
    below = Page(page.partition("</header>")[2]).words
    assert "Four." in below and "Two." not in below


def test_names_of_settings_in_a_warning_are_set_as_code_and_nothing_else_is():
    said = ["Lower `step_size`.", "A lone ` is <b>left</b>.", "`<i>` and `b`"]
    ill = Verdict(healthy=False, headline="It is `hot`.", warnings=said)
    page = header(write_report([with_verdict(bare(), ill, diagnosed=False)]))
    assert "It is <code>hot</code>." in page and "<li>Lower <code>step_size</code>.</li>" in page
    assert "A lone ` is &lt;b&gt;left&lt;/b&gt;." in page
    assert "<code>&lt;i&gt;</code> and <code>b</code>" in page


@pytest.mark.parametrize(
    ("healthy", "style", "name"),
    [(True, "healthy", "Healthy"), (False, "ill", "Not healthy"), (None, "unknown", "Not known")],
)
def test_every_verdict_has_its_look(healthy, style, name):
    verdict = Verdict(healthy=healthy, headline=HOSTILE[0])
    page = write_report([with_verdict(bare(), verdict, diagnosed=False)])
    assert f'class="verdict {style}"' in page and f"<b>{name}</b>" in page
    assert "<script>" not in page and HOSTILE[0] in Page(header(page)).words


def test_what_the_diagnostics_say_goes_before_what_the_results_say():
    run = with_verdict(reported(), Verdict(healthy=True, headline="Fine."), diagnosed=False)
    assert verdict_of(with_verdict(run, ILL, diagnosed=True)) == ILL
    assert verdict_of(with_verdict(run, None, diagnosed=True)).headline == "Fine."
    assert verdict_of(run._replace(diagnostics=None)).headline == "Fine."


def test_without_a_verdict_the_header_says_what_is_known():
    assert verdict_of(bare()).headline.endswith("`pxsgmcmc diagnose runs/mine` does.")
    found = verdict_of(reported())
    assert found.healthy is False and found.warnings == ["The worst R-hat is 1.31."]
    assert verdict_of(with_verdict(reported(), None, diagnosed=True)).healthy is None


def test_several_runs_are_counted_and_the_worst_named():
    fine = Verdict(healthy=True, headline="Fine.")
    runs = [
        with_verdict(reported("SGHMC", 0), fine, diagnosed=True),
        with_verdict(reported("SGHMC", 1), Verdict(healthy=None, headline="?"), diagnosed=True),
        with_verdict(reported("SGHMC", 2), ILL, diagnosed=True),
    ]
    found = judge(by_method(runs))
    assert found.headline == "1 of 3 runs is healthy, 1 is not, and of 1 it is not known."
    assert found.healthy is False
    assert found.warnings == ["SGHMC, seed 2: It is too hot. One.", "SGHMC, seed 1: ?"]


@pytest.mark.parametrize(("made", "metric"), [(reported, "nll"), (regression, "rmse")])
def test_numbers_come_with_their_spread_over_draws(made, metric):
    run = made()
    alone = run.results.test.by_draw[metric]
    words = Page(header(write_report([run]))).words
    assert f"one draw alone {fmean(alone):.3f} ± {stdev(alone):.3f}" in words


def test_ind_amb_and_var_are_explained_where_they_first_appear(pages):
    single = Page(pages["single"]).words
    table = single.index("All draws together")
    for word in ("IND is the NLL", "AMB is how much", "VAR is the variance"):
        assert table < single.index(word) < single.index("Error, draw by draw")
        assert single.count(word) == 1
    several = Page(pages["several"]).words
    assert several.index("IND is the NLL") < several.index("All draws together")
    assert several.count("IND is the NLL") == 1
    assert "AMB" not in Page(write_report([bare()])).words


def test_extreme_singular_values_are_explained_and_stand_out():
    run = reported()
    layers = {
        "fine": Extremes(largest=[3.0], smallest=[1.0], condition=[3.0]),
        "extreme": Extremes(largest=[3.0], smallest=[1e-5], condition=[3e5]),
        "singular": Extremes(largest=[3.0], smallest=[0.0], condition=[None]),
    }
    changed = msgspec.structs.replace(run.diagnostics, spectra=SpectraResult(layers=layers))
    page = write_report([run._replace(diagnostics=changed)])
    words = Page(page).words
    assert "maps its input to nothing" in words and "Above 10⁴" in words
    for name, strong in (("fine", False), ("extreme", True), ("singular", True)):
        row = re.search(rf'<tr><th scope="row">{name}</th>.*?</tr>', page)[0]
        assert ('class="strong"' in row) == strong


def test_an_infinite_r_hat_is_told_from_one_that_is_not_defined():
    run = reported()
    mixing = {"r_hat": "infinite", "ess_bulk": None, "ess_tail": 3.0}
    changed = msgspec.structs.replace(run.diagnostics.convergence, energy=mixing)
    changed = msgspec.structs.replace(run.diagnostics, convergence=changed)
    page = write_report([run._replace(diagnostics=changed)])
    row = re.search(r'<tr><th scope="row">energy</th>.*?</tr>', page)[0]
    assert re.findall(r"<td[^>]*>(.*?)</td>", row) == ["∞", "–", "3.00"]


@pytest.mark.parametrize(
    ("chains", "words"), [(1, "4,000 steps in all"), (4, "4,000 steps a chain")]
)
def test_the_steps_of_several_chains_are_said_of_each(chains, words):
    run = reported()
    subject = msgspec.structs.replace(run.results.subject, chains=chains)
    run = run._replace(results=msgspec.structs.replace(run.results, subject=subject))
    assert words in Page(header(write_report([run]))).words


@pytest.mark.parametrize(("draws", "highest"), [(20, "above 1.39 in 1 of 100 runs"), (4000, None)])
def test_how_high_chance_takes_r_hat_is_said_of_few_draws(draws, highest):
    run = reported()
    changed = msgspec.structs.replace(run.diagnostics.convergence, draws=draws)
    changed = msgspec.structs.replace(run.diagnostics, convergence=changed)
    words = Page(write_report([run._replace(diagnostics=changed)])).words
    assert "the verdict goes by the energy and by the median" in words
    assert highest in words if highest else "chance alone" not in words


@pytest.mark.parametrize("many", range(1, 14))
@pytest.mark.parametrize("columns", [0, 3, 9])
def test_no_row_of_figures_is_two_thirds_empty(many, columns):
    table = Table("t", ["", *"x" * columns], [[Cell("a"), *[Cell("1.0")] * columns]])
    section = PageSection("a", "A", tables=[table] if columns else [], figures=[None] * many)
    shares = [{"third": 2, "half": 3, "whole": 6}[place] for place in section.places]
    assert len(shares) == many + (columns == 3)
    assert sum(shares) % 6 == 0  # sixths of a row


@pytest.mark.parametrize(
    ("note", "columns", "beside"), [("n", 3, True), ("", 3, False), ("n", 9, False)]
)
def test_a_table_makes_room_at_its_side_only_for_a_note(note, columns, beside):
    table = Table("t", ["", *"x" * columns], [], note)
    assert PageSection("a", "A", tables=[table]).note_beside == beside
    assert not PageSection("a", "A", tables=[table, table]).note_beside


def test_tables_have_no_column_of_dashes(pages):
    for kind in ("single", "regression", "several regressions", "several"):
        for table in re.findall(r"<table>.*?</table>", pages[kind], re.DOTALL):
            rows = re.findall(r"<td[^>]*>(.*?)</td>", table)
            assert rows.count("–") < 0.5 * len(rows)


def test_only_words_that_are_used_are_in_the_glossary(pages):
    def glossary(kind):
        return re.findall(r"<dt>([^<]*)</dt><dd>", pages[kind].partition('id="words"')[2])

    assert glossary("not diagnosed") == ["ERR", "NLL"]
    assert {"IND", "AMB", "VAR", "AUROC"} <= set(glossary("single"))
    assert glossary("regression")[:4] == ["RMSE", "MAE", "NLL", "IND"]
