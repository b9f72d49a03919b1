"""A chain can run for days: it grows no memory, opens no more files, compiles nothing again."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reliability.proofs import record

ROOT = Path(__file__).parents[2]


def soak(folder, draws, steps):
    command = [sys.executable, "-m", "tests.reliability.soak", str(folder), str(draws), str(steps)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def assert_steady(found):
    assert len(found["open_files_after_warm_up"]) == 1
    assert found["compilations_after_warm_up"] == 0 < found["compilations_in_all"]


def test_a_chain_opens_and_compiles_nothing_after_its_start(tmp_path):
    assert_steady(soak(tmp_path / "run", 40, 50))


@pytest.mark.slow
def test_two_hundred_thousand_steps_grow_no_memory(tmp_path):
    found = soak(tmp_path / "run", 200, 1000)
    record("soak", **found)
    assert_steady(found)
    assert found["steps"] == 200_000
    assert found["memory_growth_percent"] < 1.0
