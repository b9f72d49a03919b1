"""Whenever a writer is killed, no committed draw is lost or torn, and going on changes no bit."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import crash_writer
import pytest
from store_samples import record_proof

from pxsgmcmc.store import open_run, verify

PROGRAM = Path(crash_writer.__file__)
HARM = [
    "draws lost",
    "draws torn",
    "damaged directories",
    "unreadable directories",
    "failed writers",
]


def crash(what: str, folder: Path, *numbers: int) -> dict[str, int]:
    # Newer Pythons warn of a fork beside threads; a writer that keeps its lease alive has one.
    quiet = ["-W", "ignore:This process:DeprecationWarning"]
    command = [sys.executable, *quiet, str(PROGRAM), what, str(folder), *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return json.loads(done.stdout)


def assert_no_harm(counts: dict[str, int]) -> None:
    assert {name: counts.get(name, 0) for name in HARM} == dict.fromkeys(HARM, 0)
    assert counts["runs identical"] == counts["runs"] > 0


def test_killed_at_random_moments_a_run_loses_nothing(disk_path):
    counts = crash("kill", disk_path, 12, 1)
    assert counts["kills"] == 12
    assert_no_harm(counts)


@pytest.mark.slow
def test_killed_at_two_hundred_random_moments_a_run_loses_nothing(disk_path):
    counts = crash("kill", disk_path, 200, 2)
    record_proof("sigkill", **{name.replace(" ", "_"): n for name, n in counts.items()})
    assert counts["kills"] == 200
    assert_no_harm(counts)


def test_stopped_at_calls_of_the_system_a_run_loses_nothing(tmp_path):
    counts = crash("stop", tmp_path, 29, 1)
    assert counts["stops"] > 15
    assert_no_harm(counts)


def test_stopped_while_it_replaces_draws_a_run_stays_whole(tmp_path):
    counts = crash("replace", tmp_path, 2, 0)
    assert counts["stops"] > 15
    assert_no_harm(counts)


@pytest.mark.slow
def test_stopped_at_every_single_call_of_the_system_a_run_loses_nothing(tmp_path):
    counts = crash("stop", tmp_path, 1, 2)
    record_proof("stopped_calls", **{name.replace(" ", "_"): n for name, n in counts.items()})
    assert counts["stops"] > 300
    assert_no_harm(counts)


def test_readers_of_a_run_at_work_see_no_damage(disk_path):
    folder = disk_path / "run"
    program = (
        f"import sys; sys.path.insert(0, {str(PROGRAM.parent)!r})\n"
        "import pathlib, crash_writer\n"
        "def wait(number): sys.stdin.read(1)\n"  # after each draw, for a look of the reader
        "for _ in range(3): crash_writer.write_run(pathlib.Path(sys.argv[1]) / 'run', said=wait)\n"
    )
    looks, command = 0, [sys.executable, "-c", program, str(disk_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, bufsize=0) as writer:
        assert writer.stdin
        while writer.poll() is None:
            if (folder / "manifest.json").exists():
                assert verify(folder).problems == []
                run = open_run(folder)
                list(run.iter_draws())
                run.load_state()
                looks += 1
                with suppress(BrokenPipeError):  # it may have ended
                    writer.stdin.write(b".")
    assert writer.returncode == 0 and looks >= crash_writer.CHUNKS // 2  # a look for each draw
