"""The command `pxsgmcmc pilot`, called in this process."""

import pytest

import pxsgmcmc as px
from pxsgmcmc.tuning import pilot
from tests.helpers.cli_calls import assert_one_line, call

CONFIG = """
[data]
name = "wine"
[model]
name = "mlp"
widths = [8]
activation = "tanh"
[expansion]
out = 1
into = 1
[sampler]
name = "{sampler}"
step_size = {step_size}
{friction}
[chain]
draws = 2
cycle_length = 50
batch_size = 20
"""


def write(folder, sampler="sghmc", step_size="1e-3", friction="friction = 5.0"):
    path = folder / "own.toml"
    text = CONFIG.format(sampler=sampler, step_size=step_size, friction=friction)
    path.write_text(text.replace("\n\n", "\n"))
    return str(path)


def test_the_package_has_the_function():
    assert px.pilot is pilot.pilot


def test_it_prints_what_was_measured_and_what_follows(tmp_path):
    groups = "friction = { base = 20.0, factors = 1.0 }"
    cycle = '{ kind = "cyclical", peak = 2e-3 }'
    said = call(
        "pilot", write(tmp_path, step_size=cycle, friction=groups), "--per-layer", "--settle", "60"
    )
    assert said.code == 0 and said.err == ""
    for word in ("base", "factors", "layer", "SGLD: peak", "SGHMC: peak", "stable to"):
        assert word in said.out
    assert "as configured, SGHMC: peak 0.002, friction 20/1: T " in said.out


@pytest.mark.parametrize(("sampler", "shown"), [("sgld", True), ("psgld", False)])
def test_a_sampler_without_a_law_is_left_out(tmp_path, sampler, shown):
    said = call("pilot", write(tmp_path, sampler, friction=""), "--rows", "40", "--settle", "30")
    assert said.code == 0
    assert ("as configured, SGLD: step size 0.001" in said.out) == shown


def test_bad_arguments_are_answered_in_one_line(tmp_path):
    path = write(tmp_path)
    assert_one_line(call("pilot", path, "--batches", "1"), 2, "`batches`")
    assert_one_line(call("pilot", path, "--chain.batch_size", "9999"), 2, "batch_size")
    assert_one_line(call("pilot", path, "--settle", "-1"), 2, "`settle`")
    assert_one_line(call("pilot", "no-such"), 2, "no-such")
