"""The page on a regression: its own figures and tables, and none of a classification's."""

import re

import msgspec
import numpy as np
import pytest

from pxsgmcmc.report import write_report
from pxsgmcmc.report.drawing import style
from pxsgmcmc.report.formatting import metric_title, metric_value
from pxsgmcmc.report.regression_figures import regression_figures
from pxsgmcmc.report.reported import by_method
from pxsgmcmc.results import Points, Regression, Results, SpreadResult
from tests.report.findings import bare, reported
from tests.report.found_in_regressions import own_likelihood, regression
from tests.report.test_page import Page

FIGURES = (
    "Bands over the input",
    "Predicted and observed",
    "Where the observed values fall",
    "Coverage of intervals",
    "Error against predicted spread",
)


def titles(page: str) -> list[str]:
    return re.findall(r"<figure[^>]*>\s*<h3>(.*?)</h3>", page)


def test_a_regression_shows_its_figures_and_curves(pages):
    shown = titles(pages["regression"])
    assert shown[:5] == list(FIGURES)
    for title in ("Error, draw by draw", "RMSE against the number of draws", "NLL against burn-in"):
        assert title in shown


def test_a_classification_shows_none_of_them(pages):
    assert not set(FIGURES) & set(titles(pages["single"]))
    words = Page(pages["single"]).words
    assert "RMSE" not in words and "CRPS" not in words and "Coverage" not in words


@pytest.mark.parametrize("kind", ["regression", "two targets", "several regressions"])
def test_nothing_of_a_classification_is_on_the_page(pages, kind):
    page = Page(pages[kind])
    for word in ("ERR", "ECE", "Brier", "AMB", "VAR", "AUROC", "misclassified", "corruption"):
        assert not re.search(rf"\b{word}\b", page.words), word
    assert "entropy" not in page.words.lower() and not page.all("img")
    assert "probabilit" not in " ".join(titles(pages[kind]))


def test_the_numbers_of_the_results_are_on_the_page(pages):
    found, words = regression(diagnosed=False).results, Page(pages["regression"]).words
    for name, value in found.test.metrics.items():
        assert f"{metric_title(name)} {metric_value(name, value)}" in words, name
    assert metric_value("crps", found.shifts["further out"].metrics["crps"]) in words


def test_several_targets_are_told_apart_and_a_wall_of_figures_is_not_built():
    few = titles(write_report([regression(targets=("a", "b"))]))
    assert [t for t in few if t.startswith("Bands")] == [
        "Bands over the input: a",
        "Bands over the input: b",
    ]
    many = titles(write_report([regression(targets=tuple("abcdef"), input_name=None)]))
    assert len([t for t in many if t.startswith("Predicted and observed")]) == 3
    assert not [t for t in many if t.startswith("Bands")]


def test_bands_dots_and_curves_are_where_the_results_have_them(monkeypatch):
    import pxsgmcmc.report.regression_figures as module

    panels = {}

    def keep(axes, name, title, caption, label):
        panels[name] = axes
        return None

    monkeypatch.setattr(module, "finished", keep)
    run = regression()
    found = run.results.regression
    with style():
        list(regression_figures(by_method([run])))
    dots = np.asarray(panels["observed-0"].get_lines()[0].get_xydata())
    np.testing.assert_allclose(dots[:, 0], found.points[0].predicted)
    np.testing.assert_allclose(dots[:, 1], found.points[0].observed)
    band = found.bands[0]
    outline = panels["bands-0"].collections[0].get_paths()[0].vertices
    assert outline[:, 1].min() == pytest.approx(min(band.quantiles["0.05"]))
    assert outline[:, 1].max() == pytest.approx(max(band.quantiles["0.95"]))
    curve = np.asarray(panels["coverage"].get_lines()[1].get_xydata())
    np.testing.assert_allclose(curve[1:-1, 1], found.coverage)
    spread = np.asarray(panels["spread-0"].get_lines()[0].get_xydata())
    np.testing.assert_allclose(spread[:, 1], found.spread[0].rmse)
    heights = panels["pit"].patches[0].get_data().values
    assert heights.mean() == pytest.approx(1.0)


def test_what_has_no_spread_and_no_mean_leaves_its_figures_out():
    nothing = Regression(
        targets=["y"],
        points=[Points(predicted=[None], observed=[1.0], std=[None])],
        pit_edges=[0.0, 1.0],
        pit_counts=[0],
        nominal=[0.5],
        coverage=[0.5],
        spread=[SpreadResult(std=[None], rmse=[None], count=[1])],
    )
    run = bare()
    changed = msgspec.structs.replace(run.results, regression=nothing, task="regression")
    assert titles(write_report([run._replace(results=changed)]))[:1] == ["Coverage of intervals"]


def test_results_of_a_regression_survive_being_written():
    found = regression().results
    assert msgspec.json.decode(msgspec.json.encode(found), type=Results) == found


def test_results_without_the_new_fields_are_a_classification():
    written = msgspec.to_builtins(reported().results)
    for field in ("task", "regression", "verdict"):
        del written[field]
    found = msgspec.convert(written, Results)
    assert found.task == "classification" and found.regression is None and found.verdict is None


def test_of_an_own_likelihood_nothing_is_told_but_what_it_is():
    html = write_report([own_likelihood()])
    page = Page(html)
    assert "NLL mean negative log-probability of what was observed" in page.words
    assert "as the run's own likelihood has it" in page.words
    assert re.search(r"worst of [\d,]+ outputs", page.words)
    assert "from the posterior of a network, " in page.words and "Data arrays" in page.words
    for word in ("right class", "probabilities", "(network)", "RMSE", "error on"):
        assert word not in page.words, word
    assert "The NLL along the straight line" in page.words and "Training NLL" in page.words
    assert "mean barrier" in html and not re.search(r"mean barrier [\d.]+%", html)
