"""A chain that is killed loses no draw, tears no file, and goes on as if it had not been."""

import pytest

from tests.reliability.killing import Server, kill_and_go_on, terminate
from tests.reliability.proofs import record
from tests.reliability.small_chains import NAMES


@pytest.fixture
def server(tmp_path):
    with Server(tmp_path) as running:
        yield running


def assert_nothing_lost(counts):
    harm = ("draws lost", "torn files", "other draws", "failed")
    assert {name: counts[name] for name in harm} == dict.fromkeys(harm, 0)
    assert counts["identical"] == counts["runs"] > 0


def test_a_killed_chain_goes_on_bit_for_bit(server, tmp_path):
    counts = kill_and_go_on(server, "px_sghmc", tmp_path, kills=4, seed=1)
    assert counts["kills"] == 4
    assert_nothing_lost(counts)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_chain_killed_forty_times_goes_on_bit_for_bit(name, server, tmp_path):
    counts = kill_and_go_on(server, name, tmp_path, kills=40, seed=2)
    record(f"sigkill_{name}", **{what.replace(" ", "_"): n for what, n in counts.items()})
    assert counts["kills"] == 40
    assert_nothing_lost(counts)


def assert_all_stopped(found):
    assert found["stopped within two chunks"] == found["all saved"] == found["sent"]


def test_a_terminated_chain_finishes_what_the_device_was_given_and_saves_it(server, tmp_path):
    assert_all_stopped(terminate(server, tmp_path, times=2, seed=1))


@pytest.mark.slow
def test_fifty_times_terminated_a_chain_finishes_what_was_given_and_saves_it(server, tmp_path):
    found = terminate(server, tmp_path, times=50, seed=2)
    record("sigterm", **{what.replace(" ", "_"): n for what, n in found.items()})
    assert_all_stopped(found)
