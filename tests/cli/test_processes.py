"""The command as it is used: a process, signals, exit codes."""

import functools
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pxsgmcmc.store import create_run, lock, open_run, verify
from tests.helpers.cli_calls import assert_one_line, call
from tests.helpers.pausing import Pause
from tests.helpers.processes import ended, hashes, start_command, wait_for_draws
from tests.helpers.small_settings import SMALL, write_own_problem
from tests.helpers.waiting import PATIENCE, wait_until

LONG = ["--chain.draws", "10", "--chain.cycle_length", "40", "--chain.chunk_seconds", "0.02"]
LONG += ["--threads", "1"]  # bits are promised for one number of threads; several chains have one


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """A function that starts `pxsgmcmc ARGUMENTS`."""
    folder = tmp_path_factory.mktemp("command")
    (folder / "small.toml").write_text(SMALL)
    return functools.partial(start_command, folder)


@pytest.fixture(scope="module")
def whole(command, tmp_path_factory):
    """A run that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert ended(command("run", "small.toml", *LONG, "--out", folder))[0] == 0
    return folder


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGHUP,
        *(pytest.param(n, marks=pytest.mark.slow) for n in (signal.SIGINT, signal.SIGTERM)),
    ],
)
def test_a_signal_saves_the_run_and_says_how_to_go_on(command, whole, tmp_path, number):
    pause = Pause(tmp_path, draw=3)
    process = command("run", "small.toml", *LONG, "--out", tmp_path / "run", env=pause.environment)
    wait_for_draws(process, tmp_path / "run", 3)
    process.send_signal(number)
    pause.end()
    code, out, _ = ended(process)
    assert code == 128 + number and out.startswith("Stopped with ")
    assert out.endswith(f"go on with:\n  pxsgmcmc resume {tmp_path}/run\n")
    assert len(hashes(tmp_path / "run")) in (3, 4)  # the device had begun with the next steps
    assert open_run(tmp_path / "run").status == "interrupted"
    assert ended(command("resume", tmp_path / "run"))[0] == 0
    assert hashes(tmp_path / "run") == hashes(whole)


def loads_jax(process, run):
    return "libjax_common" in Path(f"/proc/{process.pid}/maps").read_text()


MOMENTS = {
    "at once": (lambda process, run: True, signal.SIGTERM),
    "while it loads JAX": (loads_jax, signal.SIGHUP),
    "when it has taken its folder": (lambda process, run: (run / "lock").exists(), signal.SIGTERM),
    "when it has written the first draw": (
        lambda process, run: (run / "draws/000001.safetensors").exists(),
        signal.SIGHUP,
    ),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_signal_while_a_run_starts_ends_it_and_leaves_nothing_locked(command, tmp_path, moment):
    happened, number = MOMENTS[moment]
    endless = [*LONG, "--chain.draws", "1000000"]  # whenever the signal comes, it has work to do
    process = command("run", "small.toml", *endless, "--out", tmp_path / "run")
    wait_until(lambda: happened(process, tmp_path / "run"), moment)
    process.send_signal(number)
    code, _, err = ended(process)
    assert code in (-number, 128 + number), err
    begun = (tmp_path / "run/manifest.json").exists()
    free = open_run if begun else lambda path, writable: create_run(path, "", {})
    free(tmp_path / "run", writable=True).close()


STARTS = {  # a file that it makes early, and what it may say
    "tune": (
        ["tune", "small.toml"],
        "lock",
        ("Interrupted before the search began", "go on with:"),
    ),
    "chains": (["run", "small.toml", "--chains", "2"], "chains.json", ("go on with:",)),
}


@pytest.mark.parametrize("what", STARTS)
def test_a_signal_while_something_longer_starts_is_answered_in_words(command, tmp_path, what):
    words, sign, answers = STARTS[what]
    endless = ["--chain.draws", "1000000", "--chain.cycle_length", "1000"]
    process = command(*words, *endless, "--out", tmp_path / "out")
    wait_until((tmp_path / "out" / sign).exists, "the beginning of it")
    process.send_signal(signal.SIGTERM)
    code, out, err = ended(process)
    assert code == 128 + signal.SIGTERM and any(answer in out for answer in answers), err


def test_a_full_disk_ends_a_run_in_one_line_with_its_draws_readable(command, tmp_path):
    process = command(
        "run",
        "small.toml",
        *[
            *LONG,
            "--chain.draws",
            "100",
            "--chain.cycle_length",
            "5",
            "--chain.checkpoint_seconds",
            "0",
        ],
        "--out",
        tmp_path / "run",
    )
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (9_000, 9_000))  # the index grows larger
    code, _, err = ended(process)
    last = err.splitlines()[-1]
    assert code == 2 and last.startswith("pxsgmcmc: ") and "the storage is full" in last
    assert verify(tmp_path / "run").problems == []
    run = open_run(tmp_path / "run")
    assert 0 < len(run.draws) < 100 and len(list(run.iter_draws())) == len(run.draws)
    assert run.load_state() is not None


def chain_process(folder):
    """The process that writes to a run directory."""
    return json.loads((folder / "lock").read_text())["process"]


def test_a_killed_chain_of_two_is_resumed_and_both_are_made_longer(command, whole, tmp_path):
    folder, short = tmp_path / "run", [*LONG, "--chains", 2, "--chain.draws", "6"]
    pause = Pause(tmp_path, draw=2)
    process = command("run", "small.toml", *short, "--out", folder, env=pause.environment)
    chains = [folder / "chain-0000", folder / "chain-0001"]
    for chain in chains:
        wait_for_draws(process, chain, 2)
    victim, other = map(chain_process, chains)
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: chain_process(chains[0]) != victim, "a new process for chain 0")
    assert chain_process(chains[1]) == other  # touches no other
    pause.end()
    code, out, err = ended(process)
    assert code == 0 and out.startswith(f"2 chains in {folder}: 2 done; "), out
    assert "energy R-hat " in out.splitlines()[0]  # a verdict on both chains together
    assert "chain 0 died of signal 9; resuming it" in err
    # Chain 0 of two has the draws of a chain alone, and chain 1 has others.
    assert hashes(chains[0]) == hashes(whole)[:6] != hashes(chains[1])

    assert_may_be_judged_otherwise_only(tmp_path, short)
    code, out, err = ended(command("resume", folder, "--draws", "10"))
    assert code == 0 and "2 done" in out, (out, err)
    assert hashes(chains[0]) == hashes(whole)
    assert len(hashes(chains[1])) == 10
    assert call("verify", str(folder)).code == 0
    config = folder / "config.toml"
    config.write_text(config.read_text().replace("seed = 0", "seed = 1"))
    assert_one_line(call("verify", str(folder)), 4, "config.toml")


def assert_may_be_judged_otherwise_only(tmp_path, short):
    """The chains in `tmp_path / "run"` are taken up with other settings of evaluation alone."""
    (tmp_path / "small.toml").write_text(SMALL)
    again = ["run", tmp_path / "small.toml", *short, "--out", tmp_path / "run", "--resume"]
    said = call(*map(str, [*again, "--evaluate.subset", "7"]))
    assert said.code == 0 and "2 done" in said.out, said
    said = call(*map(str, [*again, "--sampler.temperature", "0.5"]))
    assert_one_line(said, 2, "holds a run with other settings")


@pytest.mark.slow
def test_several_chains_are_stopped_and_resumed_together(command, whole, tmp_path):
    folder = tmp_path / "run"
    pause = Pause(tmp_path, draw=1)
    arguments = ["run", "small.toml", *LONG, "--chains", 2, "--out", folder]
    process = command(*arguments, env=pause.environment)
    for chain in ("chain-0000", "chain-0001"):
        wait_for_draws(process, folder / chain, 1)
    process.send_signal(signal.SIGTERM)
    pause.end()
    code, out, _ = ended(process)
    assert code == 128 + signal.SIGTERM
    assert out == f"2 chains in {folder}: 2 stopped\ngo on with:\n  pxsgmcmc resume {folder}\n"
    for chain in ("chain-0000", "chain-0001"):
        assert open_run(folder / chain).status == "interrupted"
        assert not (folder / chain / "lock").exists()
    code, out, _ = ended(command("resume", folder))
    assert code == 0 and out.startswith(f"2 chains in {folder}: 2 done; ")
    assert hashes(folder / "chain-0000") == hashes(whole)
    assert len(hashes(folder / "chain-0001")) == 10


@pytest.mark.slow
def test_a_run_made_longer_is_the_run_that_was_asked_for_so_many_draws_at_once(
    command, whole, tmp_path
):
    short = [*LONG, "--chain.draws", "6", "--out", tmp_path / "run"]
    assert ended(command("run", "small.toml", *short))[0] == 0
    before = hashes(tmp_path / "run")
    code, out, err = ended(command("resume", tmp_path / "run", "--draws", "10"))
    assert code == 0 and out.startswith("10 draws "), (out, err)
    assert hashes(tmp_path / "run") == hashes(whole) and hashes(whole)[:6] == before
    assert call("verify", str(tmp_path / "run")).code == 0
    said = call("resume", str(tmp_path / "run"))  # what it was asked for is kept
    assert (said.code, said.out) == (0, f"{tmp_path}/run is done, with 10 draws\n")
    said = call("resume", str(tmp_path / "run"), "--draws", "9")
    assert said.code == 2 and "`draws` must be at least 10" in said.err.splitlines()[-1], said


@pytest.fixture
def own(tmp_path):
    """A configuration with a problem beside it."""
    (tmp_path / "own").mkdir()
    return write_own_problem(tmp_path / "own")


def test_every_chain_finds_the_problem_beside_the_configuration_and_nothing_in_the_current_folder(
    own, tmp_path
):
    for name in ("tyro", "msgspec", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text(
            "open('executed', 'a').write(__name__)\nraise SystemExit"
        )
    script = Path(sys.executable).parent / "pxsgmcmc"
    done = subprocess.run(
        [script, "run", own, "--chains", "2", "--out", "run"],
        cwd=tmp_path,
        # An empty entry means the current folder, and comes of `PYTHONPATH=$PYTHONPATH:more`.
        env=os.environ | {"PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "executed").exists()
    assert len(hashes(tmp_path / "run/chain-0001")) == 3


def test_a_killed_supervisor_leaves_no_chain_behind(command, own, tmp_path):
    folder, pause = tmp_path / "run", Pause(tmp_path, draw=1)
    process = command("run", own, "--chains", 2, "--out", folder, env=pause.environment)
    chains = [folder / "chain-0000", folder / "chain-0001"]
    for chain in chains:
        wait_for_draws(process, chain, 1)
    process.kill()
    process.communicate()
    wait_until(lambda: not any(map(lock.writer, chains)), "the end of the chains")
