"""The page as text: nothing from outside, nothing that acts, everything that was found."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluate.compare import compare
from pxsgmcmc.report import write_report
from tests.report.findings import bare, reported

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """Elements of a page as a browser would see them."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.unbalanced: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


KINDS = ["single", "several", "hostile", "not diagnosed", "reasons"]
KINDS += ["regression", "two targets", "several regressions"]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_on_the_page_acts_or_is_fetched(pages, kind):
    page = Page(pages[kind])
    assert page.unbalanced == [] and page.open == []
    assert not {"script", "iframe", "object", "embed", "base", "form"} & {t for t, _ in page.tags}
    for _, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href", "action", "data", "srcset"):
            target = attributes.get(name)
            assert target is None or target.startswith(("data:", "#")), target
    assert "@import" not in pages[kind] and not re.search(r"url\((?!#)", pages[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_names_within_drawings_are_unique_and_lead_somewhere(pages, kind):
    page = Page(pages[kind])
    names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(names) == len(set(names))
    targets = {a["href"][1:] for _, a in page.tags if (a.get("href") or "").startswith("#")}
    targets |= set(re.findall(r"url\(#(.+?)\)", pages[kind]))
    assert targets <= set(names)


@pytest.mark.parametrize("kind", KINDS)
def test_headings_descend_one_by_one(pages, kind):
    levels = [int(tag[1]) for tag, _ in Page(pages[kind]).tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("kind", KINDS)
def test_every_figure_has_a_caption_of_one_sentence_and_words_for_it(pages, kind):
    page = Page(pages[kind])
    drawings = page.all("svg")
    assert len(drawings) == len(page.all("figure")) == len(page.all("figcaption"))
    for drawing in drawings:
        assert drawing["role"] == "img" and len(drawing["aria-label"]) > 20
    for caption in re.findall(r"<figcaption>(.*?)</figcaption>", pages[kind], re.DOTALL):
        assert caption.endswith(".") and not re.search(r"\.\s+[A-Z]", caption), caption
    assert all(image["alt"] for image in page.all("img"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_small_and_has_no_colour_left_of_the_drawing_board(pages, kind):
    assert len(pages[kind].encode()) < 1_500_000
    assert "#a100" not in pages[kind]


def test_a_full_report_shows_every_figure(pages):
    titles = re.findall(r"<figure[^>]*>\s*<h3>(.*?)</h3>", pages["single"])
    assert len(titles) == 25
    for words in (
        "Energy",
        "Step size",
        "Kinetic temperature of base",
        "Error, draw by draw",
        "NLL against the number of draws",
        "NLL against burn-in",
        "Distance between draws",
        "Relative distance between draws",
        "Singular values of the layers",
        "Spectrum of the factors",
        "Reliability",
        "Risk and coverage",
        "NLL under corruption",
        "Entropy on letters",
        "Telling letters apart",
        "On the way between draws",
        "The plane through three draws",
    ):
        assert words in titles, titles
    assert len(Page(pages["single"]).all("img")) == 16


def test_the_numbers_of_the_results_are_in_the_tables(pages):
    found, words = reported().results, Page(pages["single"]).words
    for split in (found.test, found.train, *found.shifts.values()):
        assert f"{100 * split.metrics['err']:.1f}%" in words
        assert f"{split.metrics['nll']:.3f}" in words
    for detection in found.out_of_distribution.values():
        assert f"{detection.metrics['auroc']:.3f} ± 0.004" in words


def test_a_comparison_shows_mean_and_spread_and_every_run(pages):
    words = Page(pages["several"]).words
    runs = [reported("SGHMC", seed).results for seed in range(2)]
    row = next(row for row in compare(runs).rows if row.key == "test/nll")
    assert f"{row.methods[0].mean:.3f} ± {row.methods[0].sd:.3f}" in words
    for method in ("SGHMC", "PX-SGHMC (c=1, d=1)"):
        for seed in range(2):
            assert f"{method}, seed {seed}" in words


def test_names_from_outside_stay_names(pages):
    page = Page(pages["hostile"])
    assert "<script>alert(1)</script>" in page.words
    assert '"><img src=x onerror=alert(2)>' in page.words
    assert "{{ 7 * 7 }}" in page.words and "$x_1^2$ $\\frac{" in page.words
    assert "\u202e" not in pages["hostile"] and "\x00" not in pages["hostile"]
    drawn = "".join(re.findall(r"<svg.*?</svg>", pages["hostile"], re.DOTALL))
    assert "filled: &lt;script&gt;alert(1)&lt;…" in drawn and "filled: $x_1^2$ $\\frac{" in drawn


def test_what_is_missing_says_which_command_makes_it(pages):
    assert "pxsgmcmc diagnose runs/mine" in Page(pages["not diagnosed"]).words
    assert "no plane: Because of <script>alert(1)</script>." in Page(pages["reasons"]).words


def test_a_run_with_one_draw_and_two_numbers_has_a_report(pages):
    assert "0.0%" in Page(pages["not diagnosed"]).words


def test_the_same_findings_give_the_same_bytes(pages):
    assert write_report([bare()]) == pages["not diagnosed"]


def test_a_report_on_nothing_is_refused():
    with pytest.raises(UserError, match="at least one run"):
        write_report([])
