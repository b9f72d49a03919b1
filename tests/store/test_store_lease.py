"""A writer that gives no sign of life for a lease loses its place, and can write nothing after."""

import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import numpy as np
import pytest
from lease_tools import Clock, write_lock
from store_samples import contents_of, make_run
from tests.helpers.waiting import wait_until

from pxsgmcmc.cli import guarded
from pxsgmcmc.errors import Locked
from pxsgmcmc.store import create_run, holder, lease, lock, lock_file, open_run, verify

ELSEWHERE = {"host": "elsewhere"}


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.fixture
def run_folder(tmp_path):
    return make_run(tmp_path / "run")


UNKNOWN_HERE = [
    ELSEWHERE,
    {"boot": "another"},
    {"namespaces": "pid:[1] time:[1]"},
    {"started": holder.UNKNOWN},
]


@pytest.mark.parametrize("place", UNKNOWN_HERE, ids=lambda place: next(iter(place)))
def test_a_writer_of_which_nothing_is_known_is_given_a_whole_lease(run_folder, clock, place):
    write_lock(run_folder, process=2**30, **place)
    heard: list[str] = []
    with open_run(run_folder, writable=True, say=heard.append) as run:
        run.append_log({"x": 1})
    assert 60.0 <= clock.now < 65.0
    assert len(heard) == 1 and "waiting up to 60 s" in heard[0] and f"process {2**30}" in heard[0]


def test_a_process_hidden_by_proc_is_given_a_whole_lease(run_folder, clock, monkeypatch):
    holds = write_lock(run_folder, started="1")
    assert holds.condition() == "gone"
    monkeypatch.setattr(holder, "_look_up", lambda process: None)  # as with the option hidepid
    assert holds.condition() == "unknown"
    assert msgspec.structs.replace(holds, process=2**30).condition() == "gone"  # kill says so
    open_run(run_folder, writable=True).close()
    assert clock.now >= 60.0


@pytest.mark.parametrize("seconds", [0.0, 30.0, 58.0])
def test_a_sign_of_life_within_the_lease_keeps_the_place(run_folder, clock, seconds):
    holds = write_lock(run_folder, **ELSEWHERE)

    def beat():
        if clock.now > seconds:
            data = lock_file.encode(msgspec.structs.replace(holds, beats=1))
            (run_folder / "lock").write_bytes(data)

    clock.at_sleep = beat
    with pytest.raises(Locked, match=r"process .* on elsewhere: wait for it or stop it"):
        open_run(run_folder, writable=True)
    assert clock.now < seconds + 3


def test_another_that_takes_over_first_is_the_writer(run_folder, clock):
    write_lock(run_folder, **ELSEWHERE)
    clock.at_sleep = lambda: clock.now > 50 and write_lock(run_folder, host="third", token="other")
    with pytest.raises(Locked, match="on third"):
        open_run(run_folder, writable=True)


def test_time_for_which_the_watching_process_was_itself_stopped_does_not_count(run_folder, clock):
    write_lock(run_folder, **ELSEWHERE)
    looks = []

    def stop_once():
        looks.append(clock.now)
        if len(looks) == 2:
            clock.now += 1000.0

    clock.at_sleep = stop_once
    open_run(run_folder, writable=True).close()
    assert len(looks) >= 55  # a look a second, but for two


def lose(folder: Path) -> None:
    """Take over as another host does."""
    other = msgspec.structs.replace(holder.myself(60.0), host="elsewhere", process=7)
    with lock_file.opened(folder / "lock", make=False, wait=True):
        lock_file.put(folder / "lock", other)


WRITES = {
    "a draw": lambda run: run.commit_draw({"w": np.zeros(3)}, step=60),
    "a state": lambda run: run.commit_state({"q": np.zeros(3)}, {}),
    "a log line": lambda run: run.append_log({"x": 1}),
    "the manifest": lambda run: run.update(status="running"),
    "a result": lambda run: run.write_artifact("results.json", b"{}"),
    "a step back": lambda run: run.rewind(),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_writer_that_lost_its_place_writes_nothing_more(run_folder, write):
    with open_run(run_folder, writable=True) as run:
        write(run)
        lose(run_folder)
        before = contents_of(run_folder)
        for _ in range(2):
            with pytest.raises(Locked, match="was taken over by process 7 on elsewhere") as no:
                write(run)
            assert "\n" not in str(no.value)
    assert contents_of(run_folder) == before  # the lock of the other included


def test_a_writer_whose_lock_was_removed_writes_nothing_more(run_folder):
    with open_run(run_folder, writable=True) as run:
        (run_folder / "lock").unlink()
        with pytest.raises(Locked, match="no longer written by this process"):
            run.append_log({"x": 1})
    assert verify(run_folder).problems == []


def test_an_open_run_gives_signs_of_life_and_a_closed_one_leaves_no_thread(run_folder, monkeypatch):
    threads = threading.active_count()
    monkeypatch.setenv(lock.LEASE_VARIABLE, "0.1")
    with open_run(run_folder, writable=True) as run:
        wait_until(lambda: (lock.writer(run_folder) or run).beats >= 3, "the third beat")
        run.append_log({"x": 1})
        assert verify(run_folder).problems == []
    assert threading.active_count() == threads and lock.writer(run_folder) is None


def test_a_commit_longer_than_a_lease_ends_with_a_sign_of_life(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(lease.time, "monotonic", lambda: now[0])
    right = lock.acquire(tmp_path)
    with right.committing():
        pass
    assert (lock.writer(tmp_path) or pytest.fail()).beats == 0
    with right.committing():
        now[0] = 100.0
    monkeypatch.undo()
    assert (lock.writer(tmp_path) or pytest.fail()).beats == 1
    right.release()


def test_nobody_takes_over_in_the_middle_of_a_commit(tmp_path, clock):
    with lock.acquire(tmp_path) as right, right.committing():
        write_lock(tmp_path, **ELSEWHERE)  # as another host would see it
        with pytest.raises(Locked, match="in the middle of a commit"):
            lock.acquire(tmp_path)
    assert clock.now >= 60.0


def test_a_forked_process_is_not_the_writer_and_does_not_free_the_lock(run_folder):
    program = """
import os, sys
from pxsgmcmc.errors import Locked
from pxsgmcmc.store import open_run
run = open_run(sys.argv[1], writable=True)
if os.fork() == 0:
    try:
        run.append_log({"x": 1})
    except Locked as error:
        print(error, flush=True)
    run.close()
    os._exit(0)
os.wait()
run.append_log({"x": 2})
"""
    # Python 3.12 warns of forks of processes with threads, as the one that renews the lock.
    command = [sys.executable, "-W", "ignore", "-c", program, str(run_folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "forked" in done.stdout and done.stdout.count("\n") == 1 and done.stderr == ""


def test_a_locked_run_has_an_exit_code_of_its_own(run_folder, capsys):
    write_lock(run_folder)
    assert guarded(lambda: open_run(run_folder, writable=True) and 0) == 5
    assert capsys.readouterr().err.count("\n") == 1
    create_run(run_folder.with_name("other"), "", {}).close()
