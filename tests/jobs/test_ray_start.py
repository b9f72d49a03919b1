"""Connecting to Ray: clusters that are gone, and a start that takes long; Ray itself is made up."""

import os
import socket
import sys
from types import SimpleNamespace

import pytest

from pxsgmcmc.errors import UserError
from pxsgmcmc.jobs.ray_start import connect


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """The addresses that Ray is asked for; as many of the first calls fail as `failures` says."""
    calls = SimpleNamespace(addresses=[], failures=0, waits=[], folder=tmp_path / "ray")

    def init(address, **_):
        calls.addresses.append(address)
        if address == "auto":
            raise ConnectionError
        calls.waits.append(os.environ["RAY_gcs_server_port_wait_time_s"])
        if len(calls.addresses) <= calls.failures:
            raise RuntimeError("the node timed out")

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init, shutdown=lambda: None))
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for name in ("RAY_gcs_server_port_wait_time_s", "RAY_raylet_start_wait_time_s"):
        monkeypatch.setenv(name, "")  # put back afterwards
    monkeypatch.setenv("RAY_worker_niceness", "0")
    calls.folder.mkdir()
    return calls


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def nobody():
    """An address where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def test_without_a_cluster_one_is_started_here_with_more_patience_each_time(asked):
    said, asked.failures = [], 3  # the first is the question for one that runs
    connect("auto", said.append)
    assert asked.addresses == ["auto", "local", "local", "local"]
    assert asked.waits == ["30", "120", "300"]
    assert said == [
        "Ray did not start within 30 s; trying again with 120 s",
        "Ray did not start within 120 s; trying again with 300 s",
    ]


def test_a_start_that_never_comes_to_an_end_is_told_in_one_sentence(asked):
    asked.failures = 9
    with pytest.raises(
        UserError, match=r"did not start .* 300 s \(the node timed out\): try again"
    ):
        connect("auto", lambda sentence: None)


def test_a_cluster_that_left_its_address_and_is_gone_is_not_waited_for(asked):
    gone, said = nobody(), []
    (asked.folder / "ray_current_cluster").write_text(f"{gone}\n")
    connect("auto", said.append)
    assert asked.addresses == ["local"]
    assert said == [
        f"The Ray cluster that was started here does not answer at {gone}; starting another"
    ]


def test_a_cluster_that_answers_is_taken_and_one_that_does_not_is_named(
    asked, listening, monkeypatch
):
    connect(listening, print)
    assert asked.addresses == [listening]
    gone = nobody()
    with pytest.raises(UserError, match=f"`--engine ray --address={gone}` must be the address of"):
        connect(gone, print)
    monkeypatch.setenv("RAY_ADDRESS", gone)
    with pytest.raises(UserError, match=f"`RAY_ADDRESS={gone}` must be the address of a cluster"):
        connect("auto", print)
    assert asked.addresses == [listening]
