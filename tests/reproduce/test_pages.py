"""Pages and tables from records that never were."""

import re

import pytest

from pxsgmcmc.reproduce.catalogue import MODULES, experiment_named
from pxsgmcmc.reproduce.outcome import made_lines
from pxsgmcmc.reproduce.pages import write_pages
from pxsgmcmc.reproduce.plan import Places
from pxsgmcmc.reproduce.tables import gather, measure_title
from tests.reproduce.made_up_records import record
from tests.reproduce.test_catalogue import planner as planner_at

CURVES = {
    "trace/train": [0.5, 0.2, 0.1],
    "trace/validation": [0.5, 0.3, 0.2],
    "draws/d": [1.0, 2.0],
    "draws/d_bar": [0.5, None],
    "layers/largest": [1.0, 3.0],
    "layers/largest/stem": [1.0, 2.0],
    "lines/at": [0.0, 0.5, 1.0],
    "lines/error": [0.1, 0.3, 0.1],
    "plane/x": [0.0, 1.0],
    "plane/y": [0.0, 1.0, 2.0],
    "plane/error": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5],
    "plane/points": [0.0, 0.0, 1.0, 0.0, 0.5, 2.0],
    "plane/draws": [1.0, 5.0, 10.0],
    "burn_in/at": [0.0, 1.0],
    "burn_in/ensemble_nll": [0.5, 0.4],
    "ood photos-sklearn/edges": [0.0, 1.0, 2.0],
    "ood photos-sklearn/inside": [3.0, 1.0],
    "ood photos-sklearn/outside": [1.0, 3.0],
    "ood photos-sklearn/false_alarms": [0.0, 0.5, 1.0],
    "ood photos-sklearn/detections": [0.0, 0.9, 1.0],
    **{f"corruptions-{s}/nll": [0.1 * s, 0.2 * s, 0.3] for s in range(1, 6)},
}


@pytest.fixture
def planner(tmp_path, monkeypatch):
    planner = planner_at("desk", tmp_path)
    values = {"test/nll": 0.25, "test/err": 0.1, "validation/nll": 0.3, "corruptions/nll": 0.4}
    kept = [record({k: v + 0.01 * s for k, v in values.items()}, s, curves=CURVES) for s in (0, 1)]
    monkeypatch.setattr(planner, "records", lambda arm: kept)
    assert isinstance(planner.places, Places)
    return planner


def test_tables_have_mean_and_spread_beside_the_published_value(planner):
    made = gather(experiment_named("table1"), planner)
    text = "\n".join(made_lines(made))
    assert "0.255 ± 0.007 [0.388 ± 0.005]" in text
    assert "Published values are in brackets." in text and "2 seeds each" in text
    assert "Of 14 runs 14 are healthy" in text
    assert "C1 cannot be told (2 seeds are too few" in text


def test_sets_that_nobody_has_are_said_and_not_judged(planner):
    made = gather(experiment_named("table2"), planner)
    assert any("they are not there: photos-skimage" in note for note in made.notes)


def test_every_experiment_has_a_page_of_its_own_and_one_leads_to_all(planner, tmp_path):
    made = [gather(experiment_named(name), planner) for name in MODULES]
    paths = write_pages(made, tmp_path / "pages")
    assert [path.stem for path in paths] == [*MODULES, "index"]
    for path in paths:
        page = path.read_text("utf-8")
        assert path.stat().st_size < 5e6 and "prefers-color-scheme: dark" in page
        assert (
            "http"
            not in re.sub(r'xmlns="[^"]*"|https://www.w3.org\S*', "", page).partition("<body>")[2]
        )
        assert '<meta name="viewport"' in page
    index = paths[-1].read_text("utf-8")
    assert all(f'href="{name}.html"' in index for name in MODULES)
    write_pages(made[:1], tmp_path / "pages")
    assert paths[-1].read_text("utf-8") == index
    assert paths[list(MODULES).index("traces")].read_text("utf-8").count("<svg") == 2
    landscape = paths[list(MODULES).index("landscape")].read_text("utf-8")
    assert landscape.count("<svg") == 4 and "through draws 1, 5 and 10" in landscape


def test_a_page_says_how_every_run_is_and_the_index_how_every_claim_is(planner, tmp_path):
    made = [gather(experiment_named(name), planner) for name in ("table1", "table2")]
    page, _, index = (p.read_text("utf-8") for p in write_pages(made, tmp_path / "pages"))
    assert ">yes</td>" in page and "PX-SGHMC, seed 1: " in page
    assert "C1, C2, C3 cannot be told" in index and "C1, C2, C3, C4 cannot be told" in index
    assert "2 seeds are too few" in page


def test_measures_are_named_for_readers():
    assert measure_title("corruptions-3/ece") == "severity 3 ECE"
    assert measure_title("ood svhn/tnr95_inside") == "svhn TNR95"
