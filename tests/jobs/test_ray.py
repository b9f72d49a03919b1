"""The engine of Ray on a cluster of this machine: a killed worker takes its chain along."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from pxsgmcmc.errors import UserError
from pxsgmcmc.jobs import Local
from pxsgmcmc.jobs import ray as ray_tasks
from pxsgmcmc.jobs.engines import engine_named
from pxsgmcmc.jobs.local import environment
from pxsgmcmc.jobs.queue import QueuePace
from pxsgmcmc.jobs.ray import Ray
from pxsgmcmc.jobs.sheet import new_sheet, place_of
from pxsgmcmc.store import lock_file
from pxsgmcmc.store.lock import LEASE_VARIABLE
from tests.jobs.faults import (
    MOONS,
    PROGRAM,
    Heard,
    allow,
    chains,
    disturb,
    harm,
    in_background,
    undisturbed,
    wait_for_writer,
)
from tests.jobs.ray_nodes import RayNodes, parent_of
from tests.reliability.proofs import record

QUICK = QueuePace(queue=0.1, settle=0.1, locked=0.1, patience=20.0)


@pytest.fixture
def ray(monkeypatch):
    """Ray for this test alone, without a token in the user's home."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'pxsgmcmc[ray]'")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    return ray


@pytest.fixture
def own_cluster(ray):
    """One node."""
    quiet = {"include_dashboard": False, "log_to_driver": False, "configure_logging": False}
    ray.init(address="local", num_cpus=2, **quiet)
    yield ray
    ray.shutdown()


def process_of(job):
    holder = lock_file.peek(Path(job.folder) / lock_file.LOCK)
    assert holder is not None
    return holder.process


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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_faults_of_a_cluster_change_no_draw(ray, tmp_path, monkeypatch):
    monkeypatch.setenv(LEASE_VARIABLE, "2")
    whole = chains(tmp_path / "whole", 4, 110, MOONS)
    assert Local(2).run(whole, Heard()) is None
    jobs, found, heard = chains(tmp_path / "runs", 4, 110, MOONS), Counter(), Heard()
    for name in ("RAY_gcs_server_port_wait_time_s", "RAY_raylet_start_wait_time_s"):
        monkeypatch.setenv(name, "600")
    with RayNodes(ray, ["n0", "n1", "n2"], cpus=2) as nodes:
        thread = in_background(lambda: found.update(disturb(nodes, jobs, faults=24, seed=1)))
        stopped = Ray(4, command=(*PROGRAM, "real"), pace=QUICK).run(jobs, heard)
        thread.finish()  # what went wrong there stopped it
        assert stopped is None
    assert set(heard.codes.values()) == {0}
    found.update(harm(jobs, whole))
    found.update(nodes.counts)
    record("engine_ray", **{name.replace(" ", "_"): n for name, n in found.items()})
    assert (found["chains"], found["identical"]) == (4, 4)
    assert (found["double_writes"], found["damaged"]) == (0, 0)


def test_what_is_wrong_with_the_options_is_said_in_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"`--engine ray` needs Ray: pip install 'pxsgmcmc\[ray\]'"):
        engine_named("ray")
    with pytest.raises(UserError, match="`--engine ray` has no option '--gpu'; "):
        engine_named("ray --gpu=1")
    with pytest.raises(UserError, match="`--engine ray --num-gpus` must be a number, got 'one'"):
        engine_named("ray --num-gpus=one")


def test_a_task_on_a_node_that_ray_has_given_up_is_taken_for_gone(tmp_path, monkeypatch):
    """Ray waits minutes for an answer of one that was cut off; here it waits for ever."""
    nodes = [{"NodeID": "well", "Alive": True}, {"NodeID": "cut-off", "Alive": False}]
    waiting = SimpleNamespace(wait=lambda refs, **_: ([], refs), nodes=lambda: nodes)
    monkeypatch.setattr(ray_tasks, "import_ray", lambda: waiting)
    jobs = chains(tmp_path / "runs", 4)
    sheet, queue = new_sheet("ray", jobs, "python"), ray_tasks._RayQueue((), {})
    for number in range(4):
        task = ray_tasks._Task(f"new-{number}", object(), sheet, number)
        queue._tasks[task.name] = task
    for number, words in enumerate(("new-0 well", "new-1 cut-off", "old-2 cut-off")):
        sheet.path(number, ray_tasks.NODE).write_text(f"{words}\n")
    assert set(queue.look()) == {"new-0", "new-2", "new-3"}  # the last ones have not begun
    assert queue.last_words("new-1") == "Ray has given up its node"


def test_what_has_not_begun_when_a_node_is_lost_is_asked_for_anew(tmp_path, monkeypatch):
    """Ray asks a node for a place, and waits for its answer although it has given the node up."""
    made_up, asked, cancelled = SimpleNamespace(), [], []
    made_up.nodes = lambda: [{"NodeID": name, "Alive": up} for name, up in alive.items()]
    made_up.wait = lambda refs, **_: ([], refs)
    made_up.cancel = lambda ref, force: cancelled.append(ref)

    def remote(attend):
        function = SimpleNamespace(options=lambda **_: function)

        def ask(folder, number, *_):
            asked.append((function, number))
            return f"{number} of ask {len(asked)}"

        function.remote = ask
        return function

    made_up.remote = remote
    monkeypatch.setattr(ray_tasks, "import_ray", lambda: made_up)
    ray_tasks._task.cache_clear()
    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr(ray_tasks, "time", clock)
    now, alive = 100.0, {"well": True, "long-lost": False, "cut-off": True}
    jobs = chains(tmp_path / "runs", 2)
    sheet = new_sheet("ray", jobs, "python")
    queue = ray_tasks._RayQueue(("python",), {})
    names = queue.submit(sheet, [0, 1])
    sheet.path(0, ray_tasks.NODE).write_text(f"{names[0]} well\n")  # it runs
    assert set(queue.look()) == set(names.values()) and len(asked) == 2  # nothing was lost since
    alive["cut-off"] = False
    for later, times in ((0.5, 3), (1.0, 3), (ray_tasks.SETTLED + 1, 4), (60.0, 4)):
        now = 100.0 + later
        assert set(queue.look()) == set(names.values()) and len(asked) == times
    assert cancelled == ["1 of ask 2", "1 of ask 3"]
    functions = [function for function, number in asked if number == 1]
    assert len({id(function) for function in functions}) == 3  # Ray takes each for another task
    ray_tasks._task.cache_clear()


# A task in the worker of a raylet that ends as soon as the job has begun; Ray is made up.
ORPHANED = """
import os, sys, time
from pathlib import Path
from types import SimpleNamespace
context = SimpleNamespace(get_node_id=lambda: "node")
sys.modules["ray"] = SimpleNamespace(get_runtime_context=lambda: context)
from pxsgmcmc.jobs.ray import attend
folder, job = sys.argv[1:]
if os.fork() == 0:
    attend(folder, 0, "name", [job], {})
while not (Path(folder) / "0000.out").stat().st_size:
    time.sleep(0.01)
"""
SAVES = """
import signal, sys

def save(*_):
    with open(sys.argv[1] + "/0000.end", "w") as end:
        end.write('{"code": 143}')
    sys.exit(143)

signal.signal(signal.SIGTERM, save)
print("begun", flush=True)
signal.pause()
"""


def test_a_task_whose_raylet_died_lets_its_chain_save_and_ends_the_worker(tmp_path):
    sheet = new_sheet("ray", chains(tmp_path / "runs", 1), "python")
    sheet.path(0, "out").touch()
    job = tmp_path / "job.py"
    job.write_text(SAVES)
    words = [sys.executable, "-c", ORPHANED, str(sheet.folder), str(job)]
    # It returns when nobody has its output any more: raylet, worker and job are gone.
    done = subprocess.run(words, stdout=subprocess.PIPE, env=environment(1), check=True)
    assert done.stdout == b"" and sheet.end(0).code == 143
