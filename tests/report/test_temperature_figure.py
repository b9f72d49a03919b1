"""The kinetic temperature against the steps: where the line of what is expected stands."""

import msgspec
import numpy as np
import pytest

from pxsgmcmc.report import chain_figures, drawing
from pxsgmcmc.report.reported import by_method
from pxsgmcmc.results import GroupTemperature
from tests.report.findings import reported

ASKED = {"origin": {"sampler": {"temperature": 1.0}}}


def diagnosed(method: str, expected: float):
    run = reported(method)._replace(manifest=ASKED)
    heat = GroupTemperature(value=1.01, expected=expected, low=0.9, high=1.1)
    changed = msgspec.structs.replace(run.diagnostics.temperatures, kinetic={"base": heat})
    return run._replace(diagnostics=msgspec.structs.replace(run.diagnostics, temperatures=changed))


@pytest.fixture
def drawn(monkeypatch):
    """(runs) -> heights of the level lines of the first temperature figure, and its caption."""
    seen = {}

    def finished(axes, name, title, caption, label):
        heights = [np.asarray(line.get_ydata(), float) for line in axes.get_lines()]
        seen[name] = [float(y[0]) for y in heights if len(y) == 2], caption
        return drawing.finished(axes, name, title, caption, label)

    monkeypatch.setattr(chain_figures, "finished", finished)

    def draw(*runs):
        with drawing.style():
            list(chain_figures.chain_figures(by_method(runs)))
        return seen["temperature-0"]

    return draw


def test_the_line_stands_at_what_is_expected_where_that_was_diagnosed(drawn):
    heights, caption = drawn(diagnosed("SGHMC", 1.02))
    assert heights == [1.02] and "what steps as large as those of the last cycle make" in caption


def test_methods_with_other_expectations_have_a_line_each(drawn):
    assert drawn(diagnosed("A", 1.02), diagnosed("B", 1.05))[0] == [1.02, 1.05]
    assert drawn(diagnosed("A", 1.02), diagnosed("B", 1.02))[0] == [1.02]


def test_without_diagnostics_the_line_stands_at_the_temperature_asked_for(drawn):
    heights, caption = drawn(reported(diagnosed=False)._replace(manifest=ASKED))
    assert heights == [1.0] and "near the thin line, the temperature asked for" in caption


def test_where_no_temperature_is_known_no_line_is_spoken_of(drawn):
    heights, caption = drawn(reported(diagnosed=False))
    assert heights == [] and "thin line" not in caption
