"""`pxsgmcmc run` by two processes: none outlives the other, and the run goes on bit for bit."""

import os
import signal
import socket
import subprocess
import sys

import pytest

from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.config.run_config import run_config
from pxsgmcmc.errors import UserError
from pxsgmcmc.store import open_run, verify
from tests.helpers.cli_calls import assert_one_line, call
from tests.helpers.pausing import Pause
from tests.helpers.small_settings import write_own_problem
from tests.helpers.waiting import wait_until

LAYOUT = ("--chain.processes", "2", "--chain.devices", "2")


def free_port():
    with socket.socket() as listening:
        listening.bind(("localhost", 0))
        return listening.getsockname()[1]


def start(config, folder, environment=os.environ, draws=3):
    """Both processes of a run, begun or gone on with."""
    port = free_port()
    return [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "pxsgmcmc", "run", str(config), "--out", str(folder)),
                *("--resume", "--coordinator", f"localhost:{port}", "--process-id", str(process)),
                *("--chain.checkpoint-seconds", "0", "--chain.draws", str(draws), *LAYOUT),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for process in range(2)
    ]


def ends(processes):
    said = [process.communicate() for process in processes]
    return [process.returncode for process in processes], said


def hashes(folder):
    return [draw.sha256 for draw in open_run(folder).draws]


@pytest.mark.slow
def test_killing_one_ends_both_in_one_line_and_the_run_goes_on_bit_for_bit(tmp_path):
    config = write_own_problem(tmp_path)
    codes, said = ends(start(config, tmp_path / "whole"))
    assert codes == [0, 0] and "3 draws by SGHMC" in said[0][0] and "draws" not in said[1][0], said
    for victim in (0, 1):
        folder, place = tmp_path / f"killed{victim}", tmp_path / f"pause{victim}"
        place.mkdir()
        pause = Pause(place, draw=2)
        running = start(config, folder, pause.environment)
        wait_until(lambda: (folder / "draws/000001.safetensors").exists(), "the first draw")  # noqa: B023
        running[victim].kill()
        codes, said = ends(running)
        pause.end()
        assert codes[victim] == -signal.SIGKILL and codes[1 - victim] == 6, said
        last = said[1 - victim][1].splitlines()[-1]
        assert last.startswith(f"pxsgmcmc: Process {victim} of 2 is gone"), said
        assert (
            said[1 - victim][1].count("pxsgmcmc:") == 1 and "Traceback" not in said[1 - victim][1]
        )
        assert not verify(folder).problems
        codes, said = ends(start(config, folder))
        assert codes == [0, 0], said
        assert hashes(folder) == hashes(tmp_path / "whole") and len(hashes(folder)) == 3


@pytest.mark.slow
def test_a_signal_to_either_stops_both_with_everything_saved(tmp_path):
    config = write_own_problem(tmp_path)
    pause = Pause(tmp_path, draw=1)
    running = start(config, tmp_path / "run", pause.environment, draws=100)
    index = tmp_path / "run/index.jsonl"
    wait_until(lambda: index.exists() and index.stat().st_size, "the line of the first draw")
    running[1].terminate()
    pause.end()
    codes, said = ends(running)
    assert codes == [128 + signal.SIGTERM] * 2 and "draws kept; go on with" in said[0][0], said
    assert open_run(tmp_path / "run").status == "interrupted"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--process-id", "0"), "need `chain.processes` above 1"),
        ((*LAYOUT, "--process-id", "0"), "must be given together"),
        ((*LAYOUT, "--process-id", "2", "--coordinator", "a:1"), "must be from 0 to 1"),
        ((*LAYOUT, "--process-id", "1", "--coordinator", "a"), "must be HOST:PORT, got 'a'"),
        (("--chain.processes", "2"), "`chain.devices` must be a multiple of `chain.processes`"),
        ((*LAYOUT, "--chains", "2"), "`chains` must be 1 for a chain of several"),
    ],
)
def test_processes_that_cannot_find_each_other_are_refused_in_one_line(tmp_path, flags, words):
    config = write_own_problem(tmp_path)
    said = call("run", str(config), "--out", str(tmp_path / "run"), *flags)
    assert_one_line(said, 2, words)


def test_a_configuration_for_several_processes_is_not_run_by_one(tmp_path):
    config = load_config(str(write_own_problem(tmp_path)), [*LAYOUT])
    with pytest.raises(UserError, match="number of processes that run together, 1 here, got 2"):
        run_config(config, tmp_path / "run")
