"""Processes that want to write to one run: stopped, woken, in other namespaces, on other hosts."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import contest_writer
import pytest
from lease_tools import Clock, ask_to_write, end, start_writer
from store_samples import contents_of, make_run, record_proof
from tests.helpers.waiting import wait_until

from pxsgmcmc.errors import Locked
from pxsgmcmc.store import open_run, verify


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.fixture
def run_folder(tmp_path):
    return make_run(tmp_path / "run")


def test_stopped_past_its_lease_and_woken_a_writer_is_told_that_it_lost_its_place(
    run_folder, clock
):
    process = start_writer(run_folder, lease_seconds=600)
    try:
        assert ask_to_write(process) == "wrote\n"
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        with open_run(run_folder, writable=True) as run:
            run.append_log({"x": 1})
            before = contents_of(run_folder)
            process.send_signal(signal.SIGCONT)
            assert f"taken over by process {os.getpid()}" in ask_to_write(process)
            assert contents_of(run_folder) == before
        assert clock.now >= 600.0
        assert "no longer written by this process" in ask_to_write(process)
    finally:
        end(process)
    assert verify(run_folder).problems == []


NAMESPACES = {
    "process numbers": ["--pid", "--mount-proc"],
    "process numbers without their own proc": ["--pid"],
    "host names": ["--uts"],
    "both": ["--pid", "--uts", "--mount-proc"],
}


@pytest.mark.parametrize("spaces", NAMESPACES.values(), ids=NAMESPACES)
def test_writers_in_other_namespaces_exclude_one_another(run_folder, clock, spaces):
    unshare = ["unshare", "--map-root-user", "--fork", "--kill-child", *spaces]
    renamed = ["sh", "-c", 'hostname elsewhere && exec "$0" "$@"'] if "--uts" in spaces else []
    if not shutil.which("unshare") or subprocess.run([*unshare, *renamed, "true"]).returncode:
        pytest.skip("this system does not let us have namespaces")
    process = start_writer(run_folder, *unshare, *renamed, lease_seconds=1.2)
    try:
        first = (run_folder / "lock").read_bytes()
        # The clock of this process stands still until the other gives a sign of life.
        clock.at_sleep = lambda: wait_until(
            lambda: (run_folder / "lock").read_bytes() != first, "a sign of life"
        )
        with pytest.raises(Locked, match="wait for it or stop it"):
            open_run(run_folder, writable=True)
        assert ask_to_write(process) == "wrote\n"
    finally:
        end(process)
    before, clock.at_sleep = clock.now, lambda: None
    with open_run(run_folder, writable=True) as run:
        assert len(run.draws) == 5 + 8
    assert clock.now >= before + 1.2
    assert verify(run_folder).problems == []


def hold_contests(folder: Path, *strides: int) -> dict[str, int]:
    command = [sys.executable, contest_writer.__file__, str(folder), *map(str, strides)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    counts = json.loads(done.stdout)
    harm = ["double writes", "draws lost", "draws torn", "damaged directories", "failed writers"]
    assert {name: counts.get(name, 0) for name in harm} == dict.fromkeys(harm, 0)
    assert counts["runs identical"] == counts["runs"] == counts["contests"]
    assert counts["places kept"] > 0 and counts["places taken"] > 0
    return counts


def test_in_contests_for_a_place_nothing_is_written_twice_and_no_draw_is_lost(tmp_path):
    assert hold_contests(tmp_path, 61, 13)["contests"] >= 8


@pytest.mark.slow
def test_in_two_hundred_contests_nothing_is_written_twice_and_no_draw_is_lost(tmp_path):
    counts = hold_contests(tmp_path, 2, 1)
    record_proof("contests", **{name.replace(" ", "_"): n for name, n in counts.items()})
    assert counts["contests"] >= 200
