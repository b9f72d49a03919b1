"""The engine of Ray on a cluster of this machine: a killed worker takes its chain along."""

import os
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

from pxsgmcmc.errors import UserError
from pxsgmcmc.jobs.engines import engine_named
from pxsgmcmc.jobs.queue import QueuePace
from pxsgmcmc.jobs.ray import Ray
from pxsgmcmc.jobs.sheet import place_of
from pxsgmcmc.store import lock_file
from tests.jobs.faults import (
    PROGRAM,
    Heard,
    allow,
    chains,
    harm,
    in_background,
    undisturbed,
    wait_for_writer,
)
from tests.reliability.proofs import record

QUICK = QueuePace(queue=0.2, settle=0.3, locked=0.2, patience=20.0)


@pytest.fixture
def own_cluster(monkeypatch):
    """Ray for this test alone, without a token in the user's home."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'pxsgmcmc[ray]'")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield ray
    ray.shutdown()


def process_of(job):
    holder = lock_file.peek(Path(job.folder) / lock_file.LOCK)
    assert holder is not None
    return holder.process


def parent_of(process):
    """proc(5): the field after the state, which is after the name in brackets."""
    stat = Path(f"/proc/{process}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_and_a_killed_chain_go_on_bit_for_bit(own_cluster, tmp_path):
    jobs, whole = chains(tmp_path / "runs", 2), undisturbed(tmp_path / "whole", 2)

    def faults():
        tokens = [wait_for_writer(job) for job in jobs]
        chain, other = map(process_of, jobs)
        os.kill(parent_of(chain), signal.SIGKILL)  # the worker; the kernel ends its chain
        os.kill(other, signal.SIGKILL)
        for job, token in zip(jobs, tokens, strict=True):
            wait_for_writer(job, but=token)
        allow(jobs)

    thread, heard = in_background(faults), Heard()
    assert Ray(2, command=(*PROGRAM, "small"), pace=QUICK).run(jobs, heard) is None
    thread.finish()
    assert heard.codes == {"chain 0": 0, "chain 1": 0}
    assert any("WorkerCrashedError" in sentence for sentence in heard.sentences)
    assert any("(signal 9); resuming it" in sentence for sentence in heard.sentences)
    assert harm(jobs, whole) == Counter(chains=2, identical=2, double_writes=0, damaged=0)
    assert not place_of(jobs).exists()


class OneNode:
    """Ray on this machine as `faults.Cluster` has it: processes can be killed, the node cannot."""

    def __init__(self):
        self.killed = Counter()

    def kill_worker(self, process):
        kind = ("workers_killed", "chains_killed")[sum(self.killed.values()) % 2]
        self.killed[kind] += 1
        os.kill(parent_of(process) if kind == "workers_killed" else process, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_twenty_killed_workers_and_chains_change_no_draw(own_cluster, tmp_path):
    jobs = chains(tmp_path / "runs", 4, 110)
    whole, node, heard = undisturbed(tmp_path / "whole", 4, 110), OneNode(), Heard()

    def faults():
        for number in range(20):
            allow(jobs, 5 * (number + 1))
            job = jobs[number % 4]
            token = wait_for_writer(job)
            node.kill_worker(process_of(job))
            wait_for_writer(job, but=token)
        allow(jobs)

    thread = in_background(faults)
    assert Ray(4, cpus=0.5, command=(*PROGRAM, "small"), pace=QUICK).run(jobs, heard) is None
    thread.finish()
    assert set(heard.codes.values()) == {0} and node.killed == Counter(
        workers_killed=10, chains_killed=10
    )
    found = harm(jobs, whole)
    record("engine_ray_one_node", **node.killed, **found)
    assert found == Counter(chains=4, identical=4, double_writes=0, damaged=0)


def test_what_is_wrong_with_the_options_is_said_in_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"`--engine ray` needs Ray: pip install 'pxsgmcmc\[ray\]'"):
        engine_named("ray")
    with pytest.raises(UserError, match="`--engine ray` has no option '--gpu'; "):
        engine_named("ray --gpu=1")
    with pytest.raises(UserError, match="`--engine ray --num-gpus` must be a number, got 'one'"):
        engine_named("ray --num-gpus=one")
