"""Watching a chain costs next to nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reliability.proofs import record

ROOT = Path(__file__).parents[2]


def in_a_process():
    """The costs that one process finds."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.reliability.watch", "24"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=os.environ | {"PJRT_NPROC": "1"},
    )
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_watch_costs_at_most_two_percent_of_a_step():
    costs = (in_a_process() for _ in range(3))
    found = sorted(costs, key=lambda one: one["with_reports_percent"])[1]
    record("watch", **found)
    # Over a loop that computes no energies and reports nothing: the bar has always been this one.
    assert found["with_reports_percent"] <= 2.0
