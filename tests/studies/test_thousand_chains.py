"""The simulation of 1,000 chains: exact where nothing fails, and nothing lost where nodes do."""

import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from thousand_chains import Cluster, simulate

SECONDS = 36_000.0


def test_without_failures_it_is_waves_of_chains():
    never = Cluster(between_failures=1e15)
    found = simulate(1000, SECONDS, never, seed=1)
    waves = math.ceil(1000 / 64)
    assert found.seconds == pytest.approx(waves * (SECONDS + never.start), rel=1e-12)
    assert (found.done, found.attempts, found.failures, found.lost) == (1000, 1000, 0, 0.0)


def test_failures_come_at_their_rate_and_cost_what_they_must():
    cluster = Cluster(between_failures=86_400.0)
    found = simulate(1000, SECONDS, cluster, seed=1)
    assert found.done == 1000 and found.attempts == 1000 + found.failures
    # Failures are a Poisson process in busy time; five standard deviations are 6e-7 of a tail.
    expected = found.busy / cluster.between_failures
    assert abs(found.failures - expected) < 5 * math.sqrt(expected)
    # Each failure costs at most a start, a lease and the steps between two saves.
    least = 1000 * (SECONDS + cluster.start)
    most = found.failures * (cluster.start + cluster.lease + cluster.save)
    assert 0.0 < found.busy - least <= most and found.lost <= found.failures * cluster.save


def test_a_chain_that_never_gets_further_is_given_up():
    found = simulate(3, SECONDS, Cluster(between_failures=1e-3), seed=1)
    assert (found.done, found.attempts) == (0, 12)
