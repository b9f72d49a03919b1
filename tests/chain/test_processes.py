"""One chain by two processes, which talk by gloo: one writes, and both do the same steps."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def free_port():
    with socket.socket() as listening:
        listening.bind(("localhost", 0))
        return listening.getsockname()[1]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder, port = tmp_path_factory.mktemp("runs"), free_port()
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.chain.processes_program", str(i), str(port), folder],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONWARNINGS": "ignore", "PJRT_NPROC": "1"},
        )
        for i in range(2)
    ]
    said = [process.communicate() for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    return [json.loads(out.splitlines()[-1]) for out, _ in said]


def test_a_signal_to_one_stops_both_at_the_same_step_with_everything_saved(found):
    for each in found:
        assert each["stopped_by"] == signal.SIGTERM and each["status_when_stopped"] == "interrupted"
        assert 1 <= each["draws_when_stopped"] < 4
    assert found[0]["stopped_at"] == found[1]["stopped_at"]


def test_what_was_stopped_goes_on_bit_for_bit_and_the_first_alone_writes(found):
    assert found[0]["whole"] == found[0]["pieces"] and len(set(found[0]["whole"])) == 4
    assert found[0]["energies"] == found[1]["energies"]
    assert [each["status"] for each in found] == ["done", "done"]
    assert "kept by the first process alone" in found[1]["draw_elsewhere"]


def test_the_layout_is_in_the_manifest(found):
    assert found[0]["layout"] == [2, 2]


def test_processes_that_were_given_something_else_are_refused_on_both_sides(found):
    assert "this one has another seed (0; now 1)" in found[1]["refused"]
    assert "see what another one says" in found[0]["refused"]
