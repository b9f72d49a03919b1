"""Watching a chain costs next to nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reliability.proofs import record

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_watch_costs_at_most_two_percent_of_a_step():
    command = [sys.executable, "-m", "tests.reliability.watch", "40"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    found = json.loads(done.stdout)
    record("watch", **found)
    assert found["cost_percent"] <= 2.0
