"""`pxsgmcmc jobs` says of every chain where it runs and how it ended, from files alone."""

import os
import shutil

import numpy as np
from msgspec.structs import replace

from pxsgmcmc.jobs import Job, queue_standing
from pxsgmcmc.jobs.queue import Seen
from pxsgmcmc.jobs.queue_standing import with_queues
from pxsgmcmc.jobs.sheet import new_sheet
from pxsgmcmc.jobs.standing import standings
from pxsgmcmc.store import create_chains, create_run, lock_file
from pxsgmcmc.store.holder import myself
from pxsgmcmc.store.layout import chain_folder
from pxsgmcmc.store.lock import LOCK, acquire
from tests.helpers.cli_calls import assert_one_line, call

LINE = {
    "step": 40,
    "total_steps": 100,
    "draws": 4,
    "all_draws": 10,
    "steps_per_second": 2.0,
    "energy": 1.0,
    "step_size": 0.1,
    "temperature": {},
    "acceptance": None,
    "time": 0.0,
}
ORIGIN = {"collection": {"draws": 10, "cycle_length": 10}}


def begin(folder, status=None, **facts):
    """A chain that has made a draw and a line of its log."""
    run = create_run(folder, "", ORIGIN)
    run.commit_draw({"w": np.zeros(2, np.float32)}, step=10, energy=1.0)
    run.append_log(LINE)
    if status is not None:
        run.update(status, **facts)
    return run


def sweep(folder):
    """Chains in every state there is; the first is being written by this process."""
    create_chains(folder / "several", 2)
    alive = begin(chain_folder(folder / "several", 0))
    begin(folder / "done", "done").close()
    begin(folder / "failed", "diverged", divergence="The energy is nan.").close()
    begin(folder / "stopped", "interrupted").close()
    begin(folder / "killed").close()
    begin(folder / "far").close()
    far = replace(myself(60.0), host="node7", process=123)
    lock_file.put(folder / "far" / LOCK, far)
    begin(folder / "damaged", "done").close()
    (folder / "damaged/index.jsonl").write_bytes(b"nothing\n")
    return alive


def test_every_state_is_told_with_host_speed_and_time_left(tmp_path):
    with sweep(tmp_path):
        before = sorted(path for path in tmp_path.rglob("*"))
        found = {str(one.folder.relative_to(tmp_path)): one for one in standings(tmp_path)}
        assert sorted(path for path in tmp_path.rglob("*")) == before
    running = found["several/chain-0000"]
    assert running.state == "running" and running.host.endswith(f":{os.getpid()}")
    assert (running.draws, running.all_draws, running.speed) == (1, 10, 2.0)
    assert running.seconds_left == (100 - 40) / 2.0
    assert found["several/chain-0001"].state == "waiting"
    assert found["done"].state == "done" and found["done"].seconds_left is None
    assert found["failed"].state == "failed" and found["failed"].why == "The energy is nan."
    assert found["stopped"].state == found["killed"].state == "stopped"
    assert (found["far"].state, found["far"].host) == ("running", "node7:123")
    assert found["damaged"].state == "failed" and "damaged" in found["damaged"].why


def test_a_lock_that_is_not_renewed_is_remarked_on(tmp_path):
    begin(tmp_path / "far").close()
    lock_file.put(tmp_path / "far" / LOCK, replace(myself(60.0), host="node7"))
    os.utime(tmp_path / "far" / LOCK, (0, 0))
    (one,) = standings(tmp_path)
    assert one.state == "running" and "no sign of life" in one.why


def test_the_command_prints_a_line_a_chain_and_a_total(tmp_path):
    with sweep(tmp_path):
        said = call("jobs", str(tmp_path))
    assert said.code == 0 and said.err == ""
    lines = said.out.splitlines()
    assert len(lines) == 1 + 8 + 1
    assert any("several/chain-0000" in line and "0:30" in line for line in lines)
    assert lines[-1].startswith("8 jobs: ") and "2 running on 2 hosts" in lines[-1]
    assert "1 waiting" in lines[-1] and "about 0:30" in lines[-1]


def test_jobs_in_a_queue_wait_and_failures_without_a_run_are_told(tmp_path, monkeypatch):
    jobs = [Job("", str(tmp_path / "runs" / name), name) for name in "abcdef"]
    begin(tmp_path / "runs/a", "interrupted").close()
    begin(tmp_path / "runs/b", "done").close()
    sheet = new_sheet("slurm", jobs, "python")
    sheet.add_names({number: f"7_{number}" for number in range(5)})
    sheet.write_end(3, 2)
    sheet.path(3, "err").write_text("a warning\npxsgmcmc: There is no data set.\n")
    sheet.write_end(4, 143)

    def told():
        found = with_queues(tmp_path / "runs", standings(tmp_path / "runs"))
        return [(one.folder.name, one.state, one.host, one.why) for one in found]

    queue = {"7_0": Seen(False, "", "Priority"), "7_2": Seen(True, "n1")}
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(queue_standing, "look_at_slurm", lambda: queue)
    nobody = "no queue has it; the same command goes on"
    expected = [
        ("a", "waiting", "", "in the queue of slurm (Priority)"),
        ("b", "done", "", ""),
        ("c", "running", "n1", "starting"),
        ("d", "failed", "", "There is no data set."),
        ("e", "stopped", "", nobody),
        ("f", "stopped", "", nobody),
    ]
    assert told() == expected
    monkeypatch.setattr(shutil, "which", lambda name: None)  # a host without Slurm's commands
    assert [state for _, state, *_ in told()] == [*("stopped", "done", "stopped", "failed")] + [
        "stopped"
    ] * 2
    with acquire(sheet.folder):  # somebody looks after them
        assert [state for _, state, *_ in told()][:3] == ["waiting", "done", "waiting"]


def test_a_chain_that_slurm_has_put_back_waits_although_its_lock_is_held(tmp_path, monkeypatch):
    job = Job("", str(tmp_path / "runs/a"), "a")
    begin(tmp_path / "runs/a", "interrupted").close()
    lock_file.put(tmp_path / "runs/a" / LOCK, replace(myself(60.0), host="node7"))
    os.utime(tmp_path / "runs/a" / LOCK, (0, 0))
    new_sheet("slurm", [job], "python").add_names({0: "7_0"})
    monkeypatch.setattr(shutil, "which", lambda name: name)
    queue = {"7_0": Seen(False, "", "Resources")}
    monkeypatch.setattr(queue_standing, "look_at_slurm", lambda: queue)
    (one,) = with_queues(tmp_path / "runs", standings(tmp_path / "runs"))
    assert (one.state, one.host) == ("waiting", "")
    assert one.why.startswith("in the queue of slurm (Resources); on node7:")
    queue["7_0"] = Seen(True, "node8")  # it waits there until the lease is over
    (one,) = with_queues(tmp_path / "runs", standings(tmp_path / "runs"))
    assert one.state == "running"


def test_a_folder_without_runs_and_one_that_is_not_there(tmp_path):
    assert call("jobs", str(tmp_path)).out == f"No runs under {tmp_path}\n"
    assert_one_line(call("jobs", str(tmp_path / "no")), 2, "There is no folder")
