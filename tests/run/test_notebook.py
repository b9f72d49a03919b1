"""What a notebook shows: one live line, tables, figures as axes."""

import sys
import types

import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.progress import progress_for
from tests.helpers.small_runs import three_draws


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    found = px.open(three_draws(tmp_path_factory.mktemp("notebook") / "run"))
    return found


class Line:
    def __init__(self):
        self.shown = []

    def update(self, data, raw):
        assert raw
        self.shown.append(data)


def test_progress_in_a_notebook_is_one_line_written_anew(monkeypatch, capsys):
    line, displayed = Line(), []
    display = types.ModuleType("IPython.display")

    def show(data, raw, display_id):
        displayed.append(data)
        return line

    display.display = show
    python = types.ModuleType("IPython")
    python.get_ipython = lambda: object()
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setitem(sys.modules, "ipykernel.zmqshell", types.ModuleType("zmqshell"))
    told = progress_for("sampling", True)
    for step in range(1001):
        told.tell(step / 1000, f"step {step} <b>")
    told.close()
    assert len(displayed) == 1 and 1 <= len(line.shown) < 20
    last = line.shown[-1]
    assert last["text/plain"] == "sampling: 100%, step 1000 <b>"
    assert "width:100%" in last["text/html"] and "&lt;b&gt;" in last["text/html"]
    said = capsys.readouterr()
    assert said.out == said.err == ""


def test_values_have_html_of_their_own(run):
    x = run.problem.test.x[:7]
    plan = px.plan({"a": {"kernel": jnp.ones((4, 6)), "bias": jnp.zeros(6)}})
    shown = [value._repr_html_() for value in (run, run.problem, plan, run.predict(x))]
    for html, word in zip(shown, ("Run", "Problem", "Plan", "ClassPrediction"), strict=True):
        assert html.startswith("<div>") and f"<b>{word}</b>" in html and "<script" not in html
    assert shown[2].count("<tr>") == 3  # the head, a layer, the total
    assert shown[3].count("<tr>") == 6 and "..." in shown[3]
    mixture = px.likelihoods.gaussian("network")
    collector = mixture.collector(2)
    collector.add(slice(0, 2), np.zeros((2, 4), np.float32))
    html = collector.finish(1)._repr_html_()
    assert "2 rows, 2 targets, 1 draws" in html and "-1.645" in html


def test_names_from_outside_are_text_in_html():
    x, y = np.zeros((4, 2), np.float32), np.arange(4) % 2
    problem = px.Problem(
        lambda W, x: x @ W, px.likelihoods.categorical(), train=(x, y), names=("<b>", "b")
    )
    assert "<b>, b" not in problem._repr_html_() and "&lt;b&gt;, b" in problem._repr_html_()


def test_figures_of_the_report_come_one_by_one_as_axes(run):
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="the extra `report` is missing")
    pyplot.switch_backend("agg")
    axes = run.plot.reliability()
    assert axes.get_xlabel() and axes.lines
    from matplotlib.colors import to_hex
    from matplotlib.text import Text

    colours = {to_hex(text.get_color()) for text in axes.figure.findobj(Text)}
    colours |= {to_hex(line.get_color()) for line in axes.lines}
    assert not any(colour.startswith("#a100") for colour in colours)  # those of the page
    assert "#0072b2" in colours
    assert pyplot.fignum_exists(axes.figure.number)
    pyplot.close("all")
    with pytest.raises(px.UserError, match="did you mean `reliability`"):
        run.plot.relability()
    assert "reliability" in dir(run.plot)
