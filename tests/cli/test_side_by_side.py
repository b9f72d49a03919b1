"""`pxsgmcmc run` with several chains in one program: resumed, killed, watched like others."""

import signal
import subprocess
import sys

import pytest

from pxsgmcmc.store import open_run, verify
from tests.helpers.cli_calls import assert_one_line, call
from tests.helpers.pausing import Pause
from tests.helpers.small_settings import write_own_problem
from tests.helpers.users_jax import as_users_have_it
from tests.helpers.waiting import wait_until

CHAINS = ("--chains", "3", "--chain.executor", "vmap")


def hashes(folder):
    return [[d.sha256 for d in open_run(folder / f"chain-000{k}").draws] for k in range(3)]


def test_chains_side_by_side_are_begun_and_extended_from_the_command_line(tmp_path):
    config, whole, longer = write_own_problem(tmp_path), tmp_path / "whole", tmp_path / "longer"
    with as_users_have_it():
        said = call("run", str(config), "--out", str(whole), *CHAINS, "--chain.draws", "2")
        assert said.code == 0 and "6 draws of 3 chains" in said.out
        short = ("--chain.draws", "1")
        assert call("run", str(config), "--out", str(longer), *CHAINS, *short).code == 0
        assert call("resume", str(longer), "--draws", "2").code == 0
    assert hashes(longer) == hashes(whole) and len({h for hs in hashes(whole) for h in hs}) == 6
    origin = open_run(longer / "chain-0002").manifest["origin"]
    assert (origin["executor"], origin["side_by_side"], origin["chain"]) == ("vmap", 3, 2)
    other = ("--resume", "--chains", "2", "--chain.executor", "vmap")
    assert_one_line(call("run", str(config), "--out", str(longer), *other), 2, "other settings")


@pytest.mark.slow
def test_chains_side_by_side_that_are_killed_go_on_bit_for_bit(tmp_path):
    config, pause = write_own_problem(tmp_path), Pause(tmp_path, draw=2, chain="chain-0001")
    command = [
        *(sys.executable, "-m", "pxsgmcmc", "run", str(config), "--out", str(tmp_path / "run")),
        *("--resume", "--chain.checkpoint-seconds", "0", *CHAINS),
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = subprocess.Popen(command, env=pause.environment, **quiet)
    first = tmp_path / "run/chain-0000/draws/000002.safetensors"  # chain 1 waits before its own
    wait_until(first.exists, "the second draw of the first chain")
    running.kill()
    assert running.wait() == -signal.SIGKILL
    assert [len(one) for one in hashes(tmp_path / "run")] == [2, 1, 1]
    assert subprocess.run(command, **quiet).returncode == 0
    command[command.index(str(tmp_path / "run"))] = str(tmp_path / "whole")
    assert subprocess.run(command, **quiet).returncode == 0
    assert hashes(tmp_path / "run") == hashes(tmp_path / "whole")
    assert not any(verify(tmp_path / f"run/chain-000{k}").problems for k in range(3))
