"""The command as it is used: a process, signals, exit codes."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pxsgmcmc.store import create_run, lock, open_run, verify
from tests.helpers.cli_calls import assert_one_line, call
from tests.helpers.pausing import Pause
from tests.helpers.small_settings import SMALL
from tests.helpers.waiting import PATIENCE, wait_until

LONG = ["--chain.draws", "25", "--chain.cycle_length", "200", "--chain.chunk_seconds", "0.02"]
LONG += ["--threads", "1"]  # bits are promised for one number of threads; several chains have one


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """A function that starts `pxsgmcmc ARGUMENTS`."""
    folder = tmp_path_factory.mktemp("command")
    (folder / "small.toml").write_text(SMALL)

    def start(*arguments, **options):
        return subprocess.Popen(
            [sys.executable, "-m", "pxsgmcmc", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            **options,
        )

    return start


def ended(process):
    out, err = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in err, err
    return process.returncode, out, err


def wait_for(process, path, lines):
    """Wait until a journal has so many lines."""

    def happened():
        ended = process.poll() is not None  # asked first: what it wrote before it ended counts
        there = path.exists() and path.read_bytes().count(b"\n") >= lines
        assert there or not ended, process.communicate()
        return there

    wait_until(happened, f"line {lines} of {path.name}")


def hashes(folder):
    return [draw.sha256 for draw in open_run(folder).draws]


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
    wait_for(process, tmp_path / "run/index.jsonl", 3)
    process.send_signal(number)
    pause.end()
    code, out, _ = ended(process)
    assert code == 128 + number and out.startswith("Stopped with ")
    assert out.endswith(f"go on with:\n  pxsgmcmc resume {tmp_path}/run\n")
    assert len(hashes(tmp_path / "run")) == 3
    assert open_run(tmp_path / "run").status == "interrupted"
    assert ended(command("resume", tmp_path / "run"))[0] == 0
    assert hashes(tmp_path / "run") == hashes(whole)


@pytest.mark.parametrize(
    ("seconds", "number"),
    [(0.3, signal.SIGTERM), (0.6, signal.SIGHUP), (0.9, signal.SIGTERM), (1.4, signal.SIGHUP)],
)
def test_a_signal_while_a_run_starts_ends_it_and_leaves_nothing_locked(
    command, tmp_path, seconds, number
):
    endless = [*LONG, "--chain.draws", "1000000"]  # whenever the signal comes, it has work to do
    process = command("run", "small.toml", *endless, "--out", tmp_path / "run")
    time.sleep(seconds)
    process.send_signal(number)
    code, _, err = ended(process)
    assert code in (-number, 128 + number), err
    begun = (tmp_path / "run/manifest.json").exists()
    free = open_run if begun else lambda path, writable: create_run(path, "", {})
    free(tmp_path / "run", writable=True).close()


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


def test_a_chain_that_is_killed_is_resumed_and_touches_no_other(command, whole, tmp_path):
    folder = tmp_path / "run"
    pause = Pause(tmp_path, draw=2)
    arguments = ["run", "small.toml", *LONG, "--chains", 2, "--out", folder]
    process = command(*arguments, env=pause.environment)
    chains = [folder / "chain-0000", folder / "chain-0001"]
    for chain in chains:
        wait_for(process, chain / "index.jsonl", 2)
    victim, other = map(chain_process, chains)
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: chain_process(chains[0]) != victim, "a new process for chain 0")
    assert chain_process(chains[1]) == other
    pause.end()
    code, out, err = ended(process)
    assert code == 0 and out.startswith(f"2 chains in {folder}: 2 done; "), out
    assert "energy R-hat " in out.splitlines()[0]  # a verdict on both chains together
    assert "chain 0 died of signal 9; resuming it" in err
    # Chain 0 of two has the draws of a chain alone, and chain 1 has others.
    assert hashes(folder / "chain-0000") == hashes(whole) != hashes(folder / "chain-0001")
    assert call("verify", str(folder)).code == 0
    config = folder / "config.toml"
    config.write_text(config.read_text().replace("seed = 0", "seed = 1"))
    assert_one_line(call("verify", str(folder)), 4, "config.toml")


@pytest.mark.slow
def test_several_chains_are_stopped_and_resumed_together(command, whole, tmp_path):
    folder = tmp_path / "run"
    pause = Pause(tmp_path, draw=1)
    arguments = ["run", "small.toml", *LONG, "--chains", 2, "--out", folder]
    process = command(*arguments, env=pause.environment)
    for chain in ("chain-0000", "chain-0001"):
        wait_for(process, folder / chain / "index.jsonl", 1)
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
    assert len(hashes(folder / "chain-0001")) == 25


def test_a_run_made_longer_is_the_run_that_was_asked_for_so_many_draws_at_once(
    command, whole, tmp_path
):
    short = [*LONG, "--chain.draws", "7", "--out", tmp_path / "run"]
    assert ended(command("run", "small.toml", *short))[0] == 0
    before = hashes(tmp_path / "run")
    code, out, err = ended(command("resume", tmp_path / "run", "--draws", "25"))
    assert code == 0 and out.startswith("25 draws "), (out, err)
    assert hashes(tmp_path / "run") == hashes(whole) and hashes(whole)[:7] == before
    assert call("verify", str(tmp_path / "run")).code == 0
    said = call("resume", str(tmp_path / "run"))  # what it was asked for is kept
    assert (said.code, said.out) == (0, f"{tmp_path}/run is done, with 25 draws\n")
    said = call("resume", str(tmp_path / "run"), "--draws", "24")
    assert said.code == 2 and "`draws` must be at least 25" in said.err.splitlines()[-1], said


def test_several_chains_are_made_longer_and_may_be_judged_otherwise(command, whole, tmp_path):
    folder, short = tmp_path / "run", [*LONG, "--chains", 2, "--chain.draws", "7"]
    assert ended(command("run", "small.toml", *short, "--out", folder))[0] == 0
    (tmp_path / "small.toml").write_text(SMALL)
    again = ["run", tmp_path / "small.toml", *short, "--out", folder, "--resume"]
    said = call(*map(str, [*again, "--evaluate.subset", "7"]))
    assert said.code == 0 and "2 done" in said.out, said
    said = call(*map(str, [*again, "--sampler.temperature", "0.5"]))
    assert_one_line(said, 2, "holds a run with other settings")
    code, out, err = ended(command("resume", folder, "--draws", "25"))
    assert code == 0 and "2 done" in out, (out, err)
    assert hashes(folder / "chain-0000") == hashes(whole)
    assert len(hashes(folder / "chain-0001")) == 25
    assert call("verify", str(folder)).code == 0


def test_no_process_imports_what_lies_in_the_current_folder(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    for name in ("tyro", "msgspec", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text(
            "open('executed', 'a').write(__name__)\nraise SystemExit"
        )
    script = Path(sys.executable).parent / "pxsgmcmc"
    done = subprocess.run(
        [script, "run", "small.toml", "--chains", "2", "--out", "run"],
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


OWN = """
import jax.numpy as jnp, numpy as np, pxsgmcmc as px

def make_problem():
    x = np.linspace(-1, 1, 40, dtype=np.float32)[:, None]
    y = (x[:, 0] > 0).astype(np.int32)
    def init(key):
        return {"kernel": jnp.zeros((1, 2)), "bias": jnp.zeros((2,))}
    def apply(params, x):
        return x @ params["kernel"] + params["bias"]
    return px.Problem(apply, px.likelihoods.categorical(), train=(x, y), init=init)
"""


def test_a_problem_beside_the_configuration_is_found_by_every_chain(command, tmp_path):
    (tmp_path / "my_module.py").write_text(OWN)
    own = 'problem = "my_module:make_problem"\n' + SMALL[SMALL.index("[sampler]") :]
    (tmp_path / "own.toml").write_text(own.replace("{ base = 100.0, factors = 1.0 }", "10.0"))
    arguments = ["run", tmp_path / "own.toml", "--chains", 2, "--out", tmp_path / "run"]
    code, _, err = ended(command(*arguments))
    assert code == 0, err
    assert len(hashes(tmp_path / "run/chain-0001")) == 3


def test_a_killed_supervisor_leaves_no_chain_behind(command, tmp_path):
    folder, pause = tmp_path / "run", Pause(tmp_path, draw=1)
    arguments = ["run", "small.toml", *LONG, "--chains", 2, "--out", folder]
    process = command(*arguments, env=pause.environment)
    chains = [folder / "chain-0000", folder / "chain-0001"]
    for chain in chains:
        wait_for(process, chain / "index.jsonl", 1)
    process.kill()
    process.communicate()
    wait_until(lambda: not any(map(lock.writer, chains)), "the end of the chains")
