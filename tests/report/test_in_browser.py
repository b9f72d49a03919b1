"""Reports opened in Chromium: no complaint, no request, no sideways scrolling, light and dark."""

import msgspec
import pytest

from pxsgmcmc.report import write_report
from tests.report.browser import PROGRAM, browser
from tests.report.found_in_regressions import regression

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="there is no chromium")

KINDS = ["single", "hostile", "reasons", "regression", "several regressions"]


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("chromium")) as running:
        yield running


@pytest.fixture(scope="module")
def place(pages, tmp_path_factory):
    """Where a kind of report lies as a file."""
    folder = tmp_path_factory.mktemp("pages")

    def written(kind: str):
        path = folder / f"{kind}.html"
        if not path.exists():
            path.write_text(pages[kind], "utf-8")
        return path

    return written


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", KINDS)
def test_a_report_opens_quietly_and_fits(chromium, place, name, width, dark):
    seen = chromium.open(place(name), width, dark=dark)
    assert seen.complaints == [] and seen.requests == [] and seen.broken_images == []
    assert seen.width == width and seen.scroll_width == width, seen.outside
    assert seen.outside == []
    assert seen.background == ("rgb(22, 24, 27)" if dark else "rgb(255, 255, 255)")


def test_the_metrics_of_three_splits_stand_beside_the_figures_without_scrolling(chromium, tmp_path):
    run = regression(diagnosed=False)
    three = msgspec.structs.replace(run.results, validation=run.results.train)
    (tmp_path / "page.html").write_text(write_report([run._replace(results=three)]), "utf-8")
    chromium.open(tmp_path / "page.html", 1200)
    tables = "[...document.querySelectorAll('.figures .table')]"
    assert chromium.run(f"{tables}.length") > 0
    assert chromium.run(f"{tables}.filter(t => t.scrollWidth > t.clientWidth).length") == 0


def test_colours_of_drawings_follow_light_and_dark(chromium, place):
    line = "getComputedStyle(document.querySelector('svg path[style*=\"--series-0\"]')).stroke"
    colours = []
    for dark in (False, True):
        chromium.open(place("single"), 390, dark=dark)
        colours.append(chromium.run(line))
    assert colours == ["rgb(0, 114, 178)", "rgb(90, 180, 234)"]


def test_type_in_drawings_can_be_read_on_a_phone(chromium, place):
    chromium.open(place("single"), 390)
    heights = chromium.run(
        "[...document.querySelectorAll('svg text')].map(t => parseFloat("
        "getComputedStyle(t).fontSize) * t.ownerSVGElement.getBoundingClientRect().width"
        " / t.ownerSVGElement.viewBox.baseVal.width)"
    )
    assert min(heights) > 9.0


def test_a_report_prints(chromium, place):
    chromium.open(place("single"), 1280, dark=True)
    pdf = chromium.print()
    assert pdf.startswith(b"%PDF") and pdf.count(b"/Type /Page\n") < 20


def test_the_test_would_notice(chromium, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<meta name='viewport' content='width=device-width'>"
        "<body><img alt='gone' src='missing.png'><div style='width: 900px'>wide</div>"
        "<script>console.error('no'); undefined.x</script>"
    )
    seen = chromium.open(page, 390)
    assert seen.broken_images == ["gone"] and len(seen.complaints) >= 2
    assert seen.scroll_width > 390 and seen.outside and seen.requests
