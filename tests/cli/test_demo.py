"""The demo: made of parts that are kept, and survives being stopped in any way."""

import functools
import signal
from pathlib import Path

import pytest

from pxsgmcmc.cli import demo as demo_command
from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.cli.demo import demo_job
from pxsgmcmc.jobs import Ended, missing_stages
from pxsgmcmc.store import lock
from tests.helpers.cli_calls import assert_one_line, call
from tests.helpers.pausing import Pause
from tests.helpers.processes import ended, hashes, start_command, wait_for_draws
from tests.helpers.small_runs import three_draws
from tests.helpers.waiting import wait_until

TINY = [
    "--model",
    '{name = "mlp", widths = [4]}',
    "--chain.draws",
    "10",
    "--chain.cycle_length",
    "50",
    "--chain.burn_in",
    "0",
]
TINY += ["--chain.chunk_seconds", "0.02", "--chain.checkpoint_seconds", "0.1"]
TINY += ["--evaluate.corruptions", "false", "--evaluate.out_of_distribution", "[]"]
TINY += ["--evaluate.shifts", "[]"]


@pytest.fixture
def start(tmp_path):
    """A function that starts a command."""
    return functools.partial(start_command, tmp_path)


def children_of(process):
    """The processes that it started, by id."""
    return [
        int(stat.parent.name)
        for stat in Path("/proc").glob("[0-9]*/stat")
        if stat.read_text().rpartition(")")[2].split()[1] == str(process.pid)
    ]


def gone(child):
    try:
        return Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.slow
def test_killed_it_goes_on_to_the_draws_of_an_undisturbed_run(start, tmp_path):
    folder, arguments = tmp_path / "runs/demo", ["demo", "--seeds", "1", *TINY]
    pause = Pause(tmp_path, draw=1, chain="px_sghmc-0")
    demo = start(*arguments, env=pause.environment)
    wait_for_draws(demo, folder / "px_sghmc-0", 1)
    assert_one_line(call("demo", "--out", str(folder)), 5, f"process {demo.pid} ", "wait for it")
    children = children_of(demo)
    demo.kill()
    ended(demo)
    wait_until(lambda: all(map(gone, children)), "the end of the children")
    assert len(children) > 0 and len(hashes(folder / "px_sghmc-0")) == 1

    code, out, err = ended(start(*arguments))
    assert code == 0 and out.count("Test NLL") == 1 and "PX-SGHMC (c=1, d=1)" in out, (out, err)
    page = folder / "report.html"
    assert page.absolute().as_uri() in out and "<html" in page.read_text()
    undisturbed = ["--out", tmp_path / "alone", "--threads", "1", *TINY]
    assert ended(start("run", "digits/px_sghmc", *undisturbed))[0] == 0
    assert hashes(folder / "px_sghmc-0") == hashes(tmp_path / "alone")
    assert missing_stages(demo_job("digits/sghmc", 0, folder, TINY)) == ()
    assert "\nSGHMC, seed 0: " in out and "\nPX-SGHMC, seed 0: " in out  # a verdict on each


@pytest.mark.slow
def test_ctrl_c_stops_every_child_and_says_how_to_go_on(start, tmp_path):
    pause = Pause(tmp_path, draw=1, chain="px_sghmc-0")
    demo = start("demo", "--seeds", "1", *TINY, env=pause.environment)
    wait_for_draws(demo, tmp_path / "runs/demo/px_sghmc-0", 1)
    children = children_of(demo)
    demo.send_signal(signal.SIGINT)
    pause.end()
    code, out, _ = ended(demo)
    assert code == 128 + signal.SIGINT and "kept. Go on with:\n" in out
    assert " demo --seeds 1 --model " in out and children and all(map(gone, children))


def test_both_methods_have_the_same_budget_and_the_same_questions():
    one, two = (load_config(name) for name in demo_command.METHODS)
    assert (one.chain, one.data, one.model) == (two.chain, two.data, two.model)
    assert one.evaluate == two.evaluate and one.evaluate.corruptions is True
    assert one.evaluate.shifts and one.evaluate.out_of_distribution
    assert (two.expansion.out, two.expansion.into) == (1, 1)


def test_what_is_wrong_is_said_before_anything_is_run(tmp_path, monkeypatch):
    out = ["--out", str(tmp_path / "demo")]
    assert_one_line(call("demo", "--seeds", "0", *out), 2, "`seeds`", "at least 1, got 0")
    assert_one_line(call("demo", "--seed", "1", *out), 2, "`--seed` is not for the demo")
    assert_one_line(call("demo", "--chain.draw", "1", *out), 2, "did you mean `draws`?")
    three_draws(tmp_path / "demo/px_sghmc-0")
    said = call("demo", "--seeds", "1", *out)
    assert_one_line(said, 2, "px_sghmc-0` holds a run with other settings: remove it, or give")
    assert lock.writer(tmp_path / "demo") is None
    said = call("demo", "--out", str(tmp_path / "demo/px_sghmc-0"))
    assert_one_line(said, 2, "or one with an earlier demo", "name another")
    monkeypatch.setattr(demo_command, "_NEEDED", ("json", "no_such_package"))
    said = call("demo", *out)
    assert_one_line(said, 2, "no_such_package cannot be found", "pip install 'pxsgmcmc[all]'")


@pytest.mark.parametrize(
    ("code", "errors", "exit_code"),
    [
        (3, "jax: a warning\npxsgmcmc: The energy is not finite.\n", 3),
        (1, "Traceback (most recent call last):\n  a bug\n", 1),
        (-9, "", 1),
    ],
)
def test_a_run_that_fails_ends_the_demo_with_its_words(
    tmp_path, monkeypatch, code, errors, exit_code
):
    class Fails:
        def __init__(self, at_once):
            pass

        def run(self, jobs, watch):
            watch.ended(jobs[1], Ended(code, errors))

    monkeypatch.setattr(demo_command, "Local", Fails)
    said = call("demo", "--out", str(tmp_path / "demo"), "--seeds", "1")
    last = said.err.splitlines()[-1]
    assert said.code == exit_code and said.out == "", said
    assert last.startswith("pxsgmcmc: PX-SGHMC, seed 0") and last.endswith("` shows more."), last
    assert f" show {tmp_path}/demo/px_sghmc-0" in last
    assert errors.splitlines()[-1].removeprefix("pxsgmcmc: ") in said.err if errors else "9" in last
    assert lock.writer(tmp_path / "demo") is None
