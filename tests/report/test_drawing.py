"""How figures are drawn: what is labelled where, on which scale, and how small."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.text import Text

import pxsgmcmc as px
from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.chain.provenance import schedule_preview
from pxsgmcmc.report import drawing
from pxsgmcmc.report.drawing import DrawnCurve, label_ends, lines, panel, scale, suited_scale, tick
from pxsgmcmc.report.facts import schedule
from pxsgmcmc.report.gallery import png_uri
from pxsgmcmc.report.prediction_figures import wilson
from pxsgmcmc.report.reported import Reported, ShownMethod, by_method
from pxsgmcmc.report.svg import SERIES, to_svg
from tests.report.findings import HOSTILE, bare, reported


@pytest.fixture(autouse=True)
def drawn_in_style():
    with drawing.style():
        yield


def _ramp(length: int) -> DrawnCurve:
    return DrawnCurve(range(length), [float(i) for i in range(length)])


def two_runs() -> list[ShownMethod]:
    return by_method([bare("SGLD", 0), bare("SGLD", 1)])


def test_the_mean_of_several_runs_is_drawn_and_unknown_values_are_left_out():
    curves = {
        0: DrawnCurve([1, 2, 3], [1.0, None, None]),
        1: DrawnCurve([1, 2, 3], [3.0, 4.0, None]),
    }
    axes = panel("x", "y")
    said = lines(axes, two_runs(), lambda run: [curves[run.results.subject.seed]])
    mean = np.asarray(axes.get_lines()[-1].get_ydata(), float)
    assert mean[:2].tolist() == [2.0, 4.0] and math.isnan(mean[2])
    assert said == ["SGLD: from 2.00 to 4.00."]


def test_runs_of_different_length_are_not_averaged():
    axes = panel("x", "y")
    lines(axes, two_runs(), lambda run: [_ramp(run.results.subject.seed + 2)])
    assert len(axes.get_lines()) == 2


def test_values_over_many_decades_get_a_logarithmic_axis_and_others_do_not():
    for values, expected in (
        ([1.0, 31.0], "log"),
        ([1.0, 29.0], "linear"),
        ([0.0, 99.0], "linear"),
    ):
        axes = panel("x", "y")
        axes.plot([0, 1], values)
        suited_scale(axes)
        assert axes.get_yscale() == expected, values


def test_labels_at_the_ends_of_lines_do_not_touch_and_stay_in_the_figure():
    axes = panel("x", "y", room_for_labels=True)
    axes.plot([0, 1], [0.0, 10.0])
    label_ends(axes, [(9.9, "a"), (10.0, "b"), (9.95, "c"), (2.0, "d")])
    heights = sorted(text.get_position()[1] for text in axes.texts)
    assert len(heights) == 4
    assert min(np.diff(heights)) > 0.08 and heights[-1] <= 1.0
    at_two = next(text for text in axes.texts if text.get_text() == "d").get_position()[1]
    assert at_two == pytest.approx((2.0 - -0.5) / 11.0, abs=0.02)


def test_ticks_are_plain_text():
    axes = panel("x", "y")
    axes.plot([1, 1e6], [1e-9, 1e9])
    scale(axes, "x")
    scale(axes, "y", log=True)
    axes.figure.draw_without_rendering()
    for text in axes.findobj(Text):
        assert "$" not in text.get_text()


@pytest.mark.parametrize("name", HOSTILE[:8])
def test_names_come_out_of_a_drawing_as_they_went_in(name):
    axes = panel("x", "y")
    axes.text(0.5, 0.5, name)
    root = ElementTree.fromstring(to_svg(axes.figure, "figure", name))
    assert name in [element.text for element in root.iter("text")]
    assert root.get("aria-label") == name


def test_a_colour_within_a_name_is_left_alone():
    axes = panel("x", "y")
    axes.text(0.5, 0.5, SERIES[0], color=SERIES[0])
    svg = to_svg(axes.figure, "figure", "")
    assert svg.count(SERIES[0]) == 1 and "fill: var(--series-0)" in svg


def test_long_traces_are_thinned_and_digits_cut():
    axes = panel("x", "y")
    random = np.random.default_rng(0)
    drawing.draw(axes, DrawnCurve(range(100_000), random.normal(size=100_000).tolist()), SERIES[0])
    svg = to_svg(axes.figure, "figure", "")
    assert len(svg) < 15_000
    assert not re.search(r"\d\.\d{3}", re.sub(r"<text.*?</text>", "", svg))


def test_ticks_have_few_characters():
    assert [tick(v) for v in (0.0, 0.25, 1500.0, 2e6, 1e-4, -0.5)] == [
        "0", "0.25", "1,500", "2M", "10⁻⁴", "−0.5",
    ]  # fmt: skip


def test_the_interval_for_a_share_is_wilsons():
    low, high = wilson(0.0, 10)  # closed form: z^2 / (n + z^2)
    assert low == pytest.approx(0.0, abs=1e-12) and high == pytest.approx(3.8416 / 13.8416)


@pytest.mark.parametrize("burn_in", [0, 30])
def test_the_schedule_is_that_of_the_sampler(burn_in):
    oracle = px.cyclical(0.01, 50, lowest=0.001)
    sampler = px.sgld(lambda position, batch: 0.0, oracle)
    collection = Collection(3, 50, burn_in)
    manifest = {"origin": {"schedule": schedule_preview(sampler, collection)}}
    found = schedule(manifest, collection.total_steps)
    assert found is not None
    steps, sizes = found
    assert len(steps) >= 36 and min(steps) >= 0 and max(steps) == collection.total_steps - 1
    for step, size in zip(steps, sizes, strict=True):
        # Burn-in shifts the schedule, so that draws lie where its cycles end.
        assert size == pytest.approx(float(oracle((int(step) - burn_in) % 50)), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("manifest", [{}, {"origin": "other"}, {"origin": {"schedule": {}}}])
def test_another_schedule_is_not_guessed(manifest):
    assert schedule(manifest, 100) is None


def test_a_schedule_of_very_many_cycles_is_not_drawn():
    plan = {"period": 10, "offset": 0, "at": [0, 9], "values": [0.5, 0.1]}
    assert schedule({"origin": {"schedule": plan}}, 600) is not None
    assert schedule({"origin": {"schedule": plan}}, 601) is None


def test_pictures_keep_their_pixels():
    import base64
    import io

    from PIL import Image

    for shape in ((4, 6, 1), (4, 6, 3)):
        pixels = np.random.default_rng(1).integers(0, 256, shape, np.uint8)
        data = base64.b64decode(png_uri(pixels.tobytes(), shape).partition(",")[2])
        image = np.asarray(Image.open(io.BytesIO(data)))
        assert (image.reshape(shape) == pixels).all()


def test_methods_of_one_name_with_other_settings_are_kept_apart():
    runs = [reported("SGHMC", 0), reported("SGHMC", 1)]
    assert [len(method.runs) for method in by_method(runs)] == [2]
    other = runs[1].results
    changed = Reported(
        type(other)(subject=_with_settings(other.subject), train=other.train, test=other.test)
    )
    assert [len(method.runs) for method in by_method([runs[0], changed])] == [1, 1]


def _with_settings(subject):
    from msgspec.structs import replace

    return replace(subject, settings="another")
