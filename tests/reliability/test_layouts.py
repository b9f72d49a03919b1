"""The draws depend on the seed and the executor, and on nothing else."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reliability import layouts
from tests.reliability.proofs import record

CHUNKS = (1, 4, 1000)
ROOT = Path(__file__).parents[2]


def run(cores, devices, asked):
    if cores > len(os.sched_getaffinity(0)):
        pytest.skip(f"this machine has fewer than {cores} cores")
    request = json.dumps({"cores": cores, "devices": devices, "layouts": asked})
    command = [sys.executable, "-m", layouts.__name__, request]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return json.loads(done.stdout)


def assert_same_by_executor(found):
    for executor in ("scan", "loop"):
        assert len({digest for name, digest in found.items() if name.startswith(executor)}) <= 1


def test_chunks_cores_chains_and_devices_do_not_change_a_bit():
    found = run(1, 1, [("scan", 4, 1)]) | run(2, 2, [("scan", 1000, 2)])
    assert len(found) == 2
    assert_same_by_executor(found)


@pytest.mark.slow
def test_forty_eight_layouts_do_not_change_a_bit():
    asked = list(itertools.product(("scan", "loop"), CHUNKS, (1, 2)))
    found = {}
    for cores, devices in itertools.product((1, 2), (1, 2)):
        found |= run(cores, devices, asked)
    assert_same_by_executor(found)
    assert len(found) == 48
    record("layouts", layouts=48, of_each_executor=24, identical=48)
