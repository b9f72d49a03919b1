"""The demo: made of parts that are kept, and survives being stopped in any way."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.cli.demo import command, under_way
from pxsgmcmc.cli.demo.crew import Failed, Worker, work_off
from pxsgmcmc.cli.demo.display import Display
from pxsgmcmc.cli.demo.process import missing
from pxsgmcmc.cli.demo.under_way import DemoRun
from pxsgmcmc.results import write
from pxsgmcmc.store import lock, open_run
from tests.cli.calls import assert_one_line, call
from tests.evaluation.made_up import result
from tests.evaluation.small_runs import three_draws

TINY = ["--model", '{name = "mlp", widths = [4]}', "--chain.draws", "30", "--chain.steps", "50"]
TINY += ["--chain.chunk_seconds", "0.02", "--chain.checkpoint_seconds", "0.1"]
TINY += ["--evaluate.corruptions", "false", "--evaluate.out_of_distribution", "[]"]
TINY += ["--evaluate.shifts", "[]"]


@pytest.fixture
def start(tmp_path):
    """A function that starts a command; all processes share compiled code."""
    shared = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }

    def start(*arguments):
        return subprocess.Popen(
            [sys.executable, "-m", "pxsgmcmc", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | shared,
            cwd=tmp_path,
        )

    return start


def ended(process):
    out, err = process.communicate(timeout=300)
    assert "Traceback" not in err, err
    return process.returncode, out, err


def wait_for_draws(process, folder, count):
    index = folder / "index.jsonl"
    while not index.exists() or index.read_bytes().count(b"\n") < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


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


def hashes(folder):
    return [draw.sha256 for draw in open_run(folder).draws]


def test_killed_it_goes_on_to_the_draws_of_an_undisturbed_run(start, tmp_path):
    folder, arguments = tmp_path / "runs/demo", ["demo", "--seeds", "1", *TINY]
    demo = start(*arguments)
    wait_for_draws(demo, folder / "px_sghmc-0", 1)
    assert_one_line(call("demo", "--out", str(folder)), 2, f"process {demo.pid} ", "wait for it")
    children = children_of(demo)
    demo.kill()
    ended(demo)
    began = time.monotonic()
    while not all(map(gone, children)):
        assert time.monotonic() - began < 10, "a child outlives its parent"
        time.sleep(0.01)
    assert len(children) > 0 and len(hashes(folder / "px_sghmc-0")) < 30

    code, out, err = ended(start(*arguments))
    assert code == 0 and out.count("Test NLL") == 1 and "PX-SGHMC (c=1, d=1)" in out, (out, err)
    page = folder / "report.html"
    assert page.absolute().as_uri() in out and "<html" in page.read_text()
    undisturbed = ["--out", tmp_path / "alone", "--threads", "1", *TINY]
    assert ended(start("run", "digits/px_sghmc", *undisturbed))[0] == 0
    assert hashes(folder / "px_sghmc-0") == hashes(tmp_path / "alone")
    assert not missing(folder / "sghmc-0", ["sample", "evaluate", "diagnose"])


@pytest.mark.slow
def test_ctrl_c_stops_every_child_and_says_how_to_go_on(start, tmp_path):
    demo = start("demo", "--seeds", "1", *TINY)
    wait_for_draws(demo, tmp_path / "runs/demo/px_sghmc-0", 1)
    children = children_of(demo)
    demo.send_signal(signal.SIGINT)
    code, out, _ = ended(demo)
    assert code == 128 + signal.SIGINT and "kept. Go on with:\n" in out
    assert " demo --seeds 1 --model " in out and children and all(map(gone, children))


def test_both_methods_have_the_same_budget_and_the_same_questions():
    one, two = (load_config(name) for name in command.METHODS)
    assert (one.chain, one.data, one.model) == (two.chain, two.data, two.model)
    assert one.evaluate == two.evaluate and one.evaluate.corruptions is True
    assert one.evaluate.shifts and one.evaluate.out_of_distribution
    assert (two.expansion.out, two.expansion.into) == (1, 1)


def test_results_are_kept_as_long_as_they_are_about_all_draws(tmp_path):
    parts = ["sample", "evaluate", "diagnose"]
    assert missing(tmp_path / "none", parts) == parts
    folder, found = three_draws(tmp_path / "run"), result("SGHMC", 0, {"nll": 0.5})

    def keep(draws):
        subject = msgspec.structs.replace(found.subject, draws=draws)
        with open_run(folder, writable=True) as run:
            kept = msgspec.structs.replace(found, subject=subject)
            run.write_artifact("results.json", write(kept))

    assert missing(folder, parts) == ["evaluate", "diagnose"]
    keep(draws=3)
    assert missing(folder, parts) == ["diagnose"] and missing(folder, parts[:2]) == []
    keep(draws=2)
    assert missing(folder, parts[:2]) == ["evaluate"]
    keep(draws=3)
    with open_run(folder, writable=True) as run:
        run.update("interrupted")
    assert missing(folder, parts) == parts


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
    assert_one_line(said, 2, "holds a run: give another folder")
    monkeypatch.setattr(command, "_NEEDED", ("json", "no_such_package"))
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
    def fail(workers, at_once, look):
        raise Failed(workers[1], code, errors)

    monkeypatch.setattr(command, "work_off", fail)
    said = call("demo", "--out", str(tmp_path / "demo"), "--seeds", "1")
    last = said.err.splitlines()[-1]
    assert said.code == exit_code and said.out == "", said
    assert last.startswith("pxsgmcmc: PX-SGHMC, seed 0") and last.endswith("` shows more."), last
    assert f" show {tmp_path}/demo/px_sghmc-0" in last
    assert errors.splitlines()[-1].removeprefix("pxsgmcmc: ") in said.err if errors else "9" in last
    assert lock.writer(tmp_path / "demo") is None


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A function that makes a worker of lines of Python, and what it was heard to say."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def make(text, name="a_worker"):
        (tmp_path / f"{name}.py").write_text("import os, sys, time\n" + text)
        heard = []
        return Worker(name, [], heard.append), heard

    return make


def test_a_worker_that_keeps_dying_is_given_up(program):
    worker, heard = program("print('begun', flush=True)\nos.kill(os.getpid(), 9)\n")
    with pytest.raises(Failed) as failure:
        work_off([worker], 1, lambda: None)
    assert failure.value.code == -9 and heard == [b"begun\n"] * 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_passed_on_and_no_worker_is_left(program, number):
    text = "import signal\nsignal.signal(15, lambda *_: (print('saved', flush=True), sys.exit()))\n"
    worker, heard = program(text + "print('begun', flush=True)\ntime.sleep(60)\n")
    stubborn, said = program(
        "signal = __import__('signal')\nsignal.signal(15, signal.SIG_IGN)\n"
        "print('begun', flush=True)\ntime.sleep(60)\n",
        "stubborn",
    )

    def stop_when_begun():
        if heard and said:
            os.kill(os.getpid(), number)

    workers = [worker, stubborn, program("print('begun')", "never")[0]]
    assert work_off(workers, 2, stop_when_begun, patience=0.5) == number
    assert heard == [b"begun\n", b"saved\n"] and said == [b"begun\n"]
    assert not any(one.done for one in workers)


def test_a_few_work_at_once_and_all_come_to_their_end(program):
    made = [program(f"print({n}, flush=True)", f"worker_{n}") for n in range(3)]
    assert work_off([worker for worker, _ in made], 2, lambda: None) is None
    assert all(worker.done for worker, _ in made)


def test_lines_say_how_far_each_run_is_and_when_it_ends(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(under_way, "SECONDS", {"sample": 60.0, "evaluate": 30.0, "diagnose": 10.0})
    runs = [DemoRun("digits/sghmc", "SGHMC", seed, tmp_path, []) for seed in (0, 1)]
    runs[0]._hear(b'{"part": "evaluate", "share": 0.5, "what": "test, draw 2/4"}')
    runs[0]._hear(b"4 draws in runs/demo/sghmc-0")
    display = Display(runs, at_once=1)
    display._at_first, display._began = 0.0, time.monotonic() - 75.0
    display.look()
    display.look()  # a moment later there is nothing to say
    # 75 of 190 seconds of work are done, in as many: 1:55 is left.
    line = "demo: 39%, 1:15 so far, about 1:55 left; SGHMC, seed 0: evaluating, test, draw 2/4\n"
    assert capsys.readouterr().err == line
