"""One writer at a time; the lock of a process that is seen to be gone is taken over at once."""

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from lease_tools import write_lock
from store_samples import files_of, make_run

from pxsgmcmc.errors import CorruptRun, Locked, UserError
from pxsgmcmc.store import create_run, holder, lock, open_run, verify

HOLD = """
import sys
from pxsgmcmc.store import open_run
run = open_run(sys.argv[1], writable=True)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def held(tmp_path):
    """A run, and another process that writes to it."""
    folder = make_run(tmp_path / "run")
    command = [sys.executable, "-c", HOLD, str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdin
    assert process.stdout.readline() == "held\n"
    yield folder, process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def test_a_second_writer_is_refused_with_the_first_ones_process_and_readers_are_not(held):
    folder, process = held
    with pytest.raises(Locked, match=f"process {process.pid} on .*: wait for it or stop it") as no:
        open_run(folder, writable=True)
    assert "\n" not in str(no.value)
    assert len(open_run(folder).draws) == 5 and verify(folder).problems == []


def test_the_lock_of_a_killed_process_is_taken_over_even_before_its_parent_noticed(held):
    folder, process = held
    process.send_signal(signal.SIGKILL)
    os.waitid(
        os.P_PID, process.pid, os.WEXITED | os.WNOWAIT
    )  # dead, and still in the process table
    assert "lock" in files_of(folder)
    with open_run(folder, writable=True) as run:
        run.append_log({"x": 1})
    assert "lock" not in files_of(folder)


def test_two_writers_in_one_process_are_refused_too(tmp_path):
    with create_run(tmp_path, "", {}):
        with pytest.raises(Locked, match=f"process {os.getpid()}"):
            open_run(tmp_path, writable=True)
        with pytest.raises(UserError, match="--resume"):
            create_run(tmp_path, "", {})
    open_run(tmp_path, writable=True).close()


def test_a_process_number_that_is_used_again_does_not_hold_the_lock(tmp_path):
    folder = make_run(tmp_path / "run")
    write_lock(folder, started="1")
    open_run(folder, writable=True).close()
    write_lock(folder)
    with pytest.raises(Locked, match=f"process {os.getpid()}"):
        open_run(folder, writable=True)


def test_an_empty_lock_is_free_and_a_damaged_one_is_damage(tmp_path):
    folder = make_run(tmp_path / "run")
    (folder / "lock").touch()
    open_run(folder, writable=True).close()
    write_lock(folder)
    data = bytearray((folder / "lock").read_bytes())
    for bit in range(0, 8 * len(data), 37):
        data[bit // 8] ^= 1 << bit % 8
        (folder / "lock").write_bytes(data)
        with pytest.raises(CorruptRun, match="lock` is damaged"):
            open_run(folder, writable=True)
        assert verify(folder).problems
        data[bit // 8] ^= 1 << bit % 8


def test_of_many_that_want_to_take_over_at_once_one_does(tmp_path):
    folder = make_run(tmp_path / "run")
    for _ in range(20):
        write_lock(folder, process=2**30)

        def attempt(_):
            try:
                return open_run(folder, writable=True)
            except Locked:
                return None

        with ThreadPoolExecutor(8) as threads:
            writers = [run for run in threads.map(attempt, range(8)) if run is not None]
        assert len(writers) == 1
        writers[0].close()


def test_a_refused_or_failed_opening_leaves_no_lock(tmp_path):
    folder = make_run(tmp_path / "run")
    (folder / "log.jsonl").write_bytes(b"junk\n")
    with pytest.raises(CorruptRun):
        open_run(folder, writable=True)
    assert "lock" not in files_of(folder)


@pytest.mark.skipif(shutil.which("ps") is None, reason="this system has no ps")
def test_a_system_without_proc_is_asked_through_ps():
    state, started = holder._ask_ps(os.getpid()) or ("", "")
    assert state in "RSD" and started
    assert holder._ask_ps(2**22 + 1) is None


def test_a_lock_that_says_what_no_process_can_is_damage(tmp_path):
    folder = make_run(tmp_path / "run")
    for change in (
        {"process": 0},
        {"process": 2**31},
        {"host": "evil\x1b[2J"},
        {"lease": 0.0},
        {"lease": 1e9},
        {"beats": -1},
        {"token": 3},
    ):
        write_lock(folder, **change)
        with pytest.raises(CorruptRun, match="lock` is damaged"):
            open_run(folder, writable=True)


def test_an_opening_that_fails_after_the_lock_is_in_place_leaves_no_lock(tmp_path, monkeypatch):
    folder = make_run(tmp_path / "run")
    write_lock(folder, process=2**30)
    real, calls = os.fsync, []

    def failing(descriptor):
        calls.append(descriptor)
        if len(calls) == 3:  # the part, its name, and now the new name
            raise OSError(5, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(UserError, match="Input/output error"):
        open_run(folder, writable=True)
    assert "lock" not in files_of(folder)


@pytest.mark.parametrize("text", ["", "soon", "0", "-1", "nan", "inf", "1e9"])
def test_a_lease_that_is_no_length_of_time_is_refused(tmp_path, monkeypatch, text):
    monkeypatch.setenv(lock.LEASE_VARIABLE, text)
    with pytest.raises(UserError, match=r"`PXSGMCMC_LEASE_SECONDS` must be .* got") as no:
        create_run(tmp_path / "run", "", {})
    assert repr(text) in str(no.value)
