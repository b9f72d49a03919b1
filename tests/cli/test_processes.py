"""The command as it is used: a process, signals, exit codes."""

import json
import os
import resource
import signal
import subprocess
import sys
import time

import pytest

from pxsgmcmc.store import create_run, open_run, verify
from tests.cli.settings import SMALL

LONG = ["--chain.draws", "25", "--chain.steps", "200", "--chain.chunk_seconds", "0.02"]


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
    out, err = process.communicate(timeout=300)
    assert "Traceback" not in err, err
    return process.returncode, out, err


def wait_for(process, path, lines):
    """Wait until a journal has so many lines."""
    while not path.exists() or path.read_bytes().count(b"\n") < lines:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def hashes(folder):
    return [draw.sha256 for draw in open_run(folder).draws]


@pytest.fixture(scope="module")
def whole(command, tmp_path_factory):
    """A run that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert ended(command("run", "small.toml", *LONG, "--out", folder))[0] == 0
    return folder


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_a_signal_saves_the_run_and_says_how_to_go_on(command, whole, tmp_path, number):
    process = command("run", "small.toml", *LONG, "--out", tmp_path / "run")
    wait_for(process, tmp_path / "run/index.jsonl", 3)
    process.send_signal(number)
    code, out, _ = ended(process)
    assert code == 128 + number and out.startswith("Stopped with ")
    assert out.endswith(f"go on with:\n  pxsgmcmc resume {tmp_path}/run\n")
    kept = len(hashes(tmp_path / "run"))
    assert 3 <= kept < 25 and open_run(tmp_path / "run").status == "interrupted"
    assert ended(command("resume", tmp_path / "run"))[0] == 0
    assert hashes(tmp_path / "run") == hashes(whole)


@pytest.mark.parametrize("seconds", [0.3, 0.6, 0.9, 1.4])
def test_a_signal_while_a_run_starts_ends_it_and_leaves_nothing_locked(command, tmp_path, seconds):
    process = command("run", "small.toml", *LONG, "--out", tmp_path / "run")
    time.sleep(seconds)
    process.send_signal(signal.SIGTERM)
    code, _, err = ended(process)
    assert code in (-signal.SIGTERM, 128 + signal.SIGTERM), err
    begun = (tmp_path / "run/manifest.json").exists()
    free = open_run if begun else lambda path, writable: create_run(path, "", {})
    free(tmp_path / "run", writable=True).close()


def test_a_full_disk_ends_a_run_in_one_line_with_its_draws_readable(command, tmp_path):
    process = command(
        "run",
        "small.toml",
        *[*LONG, "--chain.draws", "100", "--chain.steps", "5", "--chain.checkpoint_seconds", "0"],
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
    process = command("run", "small.toml", *LONG, "--chains", 2, "--out", folder)
    wait_for(process, folder / "chain-0000/index.jsonl", 2)
    victim, other = chain_process(folder / "chain-0000"), None
    if (folder / "chain-0001/lock").exists():
        other = chain_process(folder / "chain-0001")
    os.kill(victim, signal.SIGKILL)
    wait_for(process, folder / "chain-0000/index.jsonl", 4)
    if other and (folder / "chain-0001/lock").exists():
        assert chain_process(folder / "chain-0001") == other
    code, out, err = ended(process)
    assert (code, out) == (0, f"2 chains in {folder}: 2 done\n")
    assert "chain 0 died of signal 9; resuming it" in err
    # Chain 0 of two has the draws of a chain alone, and chain 1 has others.
    assert hashes(folder / "chain-0000") == hashes(whole) != hashes(folder / "chain-0001")
    assert ended(command("verify", folder))[0] == 0
    config = folder / "config.toml"
    config.write_text(config.read_text().replace("seed = 0", "seed = 1"))
    code, _, err = ended(command("verify", folder))
    assert code == 4 and "is not what the chains were run with" in err


@pytest.mark.slow
def test_several_chains_are_stopped_and_resumed_together(command, whole, tmp_path):
    folder = tmp_path / "run"
    process = command("run", "small.toml", *LONG, "--chains", 2, "--out", folder)
    for chain in ("chain-0000", "chain-0001"):
        wait_for(process, folder / chain / "index.jsonl", 1)
    process.send_signal(signal.SIGTERM)
    code, out, _ = ended(process)
    assert code == 128 + signal.SIGTERM
    assert out == f"2 chains in {folder}: 2 stopped\ngo on with:\n  pxsgmcmc resume {folder}\n"
    for chain in ("chain-0000", "chain-0001"):
        assert open_run(folder / chain).status == "interrupted"
        assert not (folder / chain / "lock").exists()
    assert ended(command("resume", folder))[:2] == (0, f"2 chains in {folder}: 2 done\n")
    assert hashes(folder / "chain-0000") == hashes(whole)
    assert len(hashes(folder / "chain-0001")) == 25
