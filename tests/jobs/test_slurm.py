"""The engine of Slurm on a cluster that is not one: jobs end, are killed, lose their nodes."""

import os
import signal
import sys
from collections import Counter

import pytest

from pxsgmcmc.errors import UserError
from pxsgmcmc.jobs import Local, queued, slurm
from pxsgmcmc.jobs.engines import engine_named
from pxsgmcmc.jobs.queue import QueuePace
from pxsgmcmc.jobs.sheet import place_of
from pxsgmcmc.jobs.slurm import Slurm
from pxsgmcmc.store.lock import LEASE_VARIABLE
from tests.helpers.waiting import wait_until
from tests.jobs.fake_slurm import FakeSlurm
from tests.jobs.faults import (
    MOONS,
    PROGRAM,
    Heard,
    allow,
    chains,
    disturb,
    harm,
    in_background,
    notes_of,
    undisturbed,
    wait_for_writer,
)
from tests.reliability.proofs import record

QUICK = QueuePace(queue=0.05, settle=0.1, locked=0.05, refused=0.05, patience=20.0)


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    monkeypatch.setenv(LEASE_VARIABLE, "0.6")
    (tmp_path / "cluster").mkdir()
    with FakeSlurm(tmp_path / "cluster", {"n0": 2, "n1": 2, "n2": 2}) as running:
        yield running


def engine(kind="small"):
    return Slurm(4, command=(*PROGRAM, kind), pace=QUICK)


def test_killed_preempted_and_cut_off_chains_go_on_bit_for_bit(cluster, tmp_path):
    jobs, whole = chains(tmp_path / "runs", 2), undisturbed(tmp_path / "whole", 2)

    def faults():
        tokens = [wait_for_writer(job) for job in jobs]
        first, second = (cluster.tasks[f"100_{number}"] for number in (0, 1))
        first.process.kill()  # Slurm forgets the task: it is handed in again
        wait_for_writer(jobs[0], but=tokens[0])
        (orphan,) = cluster.lose_node(second.node, cut_off=True)
        token = wait_for_writer(jobs[1], but=tokens[1])
        cluster.preempt(second)  # saves, and puts itself back into the queue
        wait_for_writer(jobs[1], but=token)
        before = written_by(orphan)
        orphan.send_signal(signal.SIGCONT)
        allow(jobs)
        orphan.wait()
        assert written_by(orphan) == before  # it lost its place and writes nothing

    def written_by(process):
        return sum(writer == str(process.pid) for _, writer in notes_of(jobs[1]))

    thread, heard = in_background(faults), Heard()
    stopped = engine().run(jobs, heard)
    thread.finish()  # what went wrong there stopped it
    assert stopped is None
    assert heard.codes == {"chain 0": 0, "chain 1": 0}
    assert "chain 0 was killed, or its host was (Slurm says FAILED); resuming it" in heard.sentences
    assert cluster.tasks["100_1"].starts == 3  # Slurm's own doing, whoever looks on
    expected = Counter(chains=2, identical=2, double_writes=0, damaged=0)
    assert harm(jobs, whole) == expected


@pytest.mark.slow
def test_faults_of_a_cluster_change_no_draw(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv(LEASE_VARIABLE, "2")
    whole = chains(tmp_path / "whole", 4, 110, MOONS)
    assert Local(2).run(whole, Heard()) is None
    jobs, found, heard = chains(tmp_path / "runs", 4, 110, MOONS), Counter(), Heard()
    thread = in_background(lambda: found.update(disturb(cluster, jobs, faults=24, seed=1)))
    stopped = engine("real").run(jobs, heard)
    thread.finish()  # what went wrong there stopped it
    assert stopped is None
    assert set(heard.codes.values()) == {0}
    assert {orphan.wait() for orphan in cluster.orphans} <= {-9, 0, 5}
    found.update(harm(jobs, whole))
    record("engine_slurm", **{name.replace(" ", "_"): n for name, n in found.items()})
    assert (found["chains"], found["identical"]) == (4, 4)
    assert (found["double_writes"], found["damaged"]) == (0, 0)


# A job that starts at once. It waits until it may end, or is told to stop.
LIGHT = """
import os, signal, sys, time
stem = os.path.join(sys.argv[1], f"{int(sys.argv[2]):04}")
with open(stem + ".tries", "a") as tries:
    tries.write("x")

def end(code):
    print(f"pxsgmcmc: code {code}", file=sys.stderr)
    with open(stem + ".new", "w") as file:
        file.write('{"code": %d}' % code)
    os.replace(stem + ".new", stem + ".end")
    sys.exit(code)

signal.signal(signal.SIGTERM, lambda *_: end(143))
print('{"stage": "sample", "share": 0.5, "text": "begun"}', flush=True)
tries = os.path.getsize(stem + ".tries")
"""
UNTIL_ALLOWED = LIGHT + "while not os.path.exists(os.environ['GO']): time.sleep(0.01)\nend(0)\n"


@pytest.fixture
def light(tmp_path, monkeypatch):
    """A function from lines of Python to an engine whose jobs run them."""
    monkeypatch.setenv("GO", str(tmp_path / "go"))

    def make(text, at_once=8, **options):
        program = tmp_path / "program.py"
        program.write_text(text)
        return Slurm(at_once, command=(sys.executable, "-IS", str(program)), pace=QUICK, **options)

    return make


def sheets(jobs):
    return [path.parent for path in place_of(jobs).rglob("sheet.json")]


def handed_in(cluster):
    return [words for words in cluster.asked if words[0] == "sbatch"]


def test_what_sbatch_is_asked_for_and_which_exit_codes_are_answers(cluster, tmp_path, light):
    code = "end((0, 2, 3, 4, 5)[int(sys.argv[2])] if sys.argv[2] != '4' or tries < 3 else 0)"
    jobs, heard = chains(tmp_path / "100%" / "runs", 5), Heard()
    light(LIGHT + code, at_once=3, options=("--partition=gpu",)).run(jobs, heard)
    wanted = {f"chain {number}": code for number, code in enumerate((0, 2, 3, 4, 0))}
    assert heard.codes == wanted and heard.ends["chain 2"].sentence == "code 3"
    assert heard.sentences == ["chain 4 waits: code 5"] * 2  # a reason to wait
    (sheet,) = sheets(jobs)  # kept, since it says why jobs failed
    assert [one.stat().st_size for one in sorted(sheet.glob("*.tries"))] == [1, 1, 1, 1, 3]
    words, *again = handed_in(cluster)
    wanted = {"--parsable", "--array=0-4%3", "--requeue", "--signal=B:TERM@120", "--ntasks=1"}
    assert wanted | {"--open-mode=append", "--partition=gpu", "--cpus-per-task=1"} <= set(words)
    assert any("100%%/.jobs" in word for word in words if word.startswith("--output="))
    assert ["--array=4%3" in words for words in again] == [True, True]


def test_a_job_that_never_gets_further_is_given_up(cluster, tmp_path, light):
    heard, (job,) = Heard(), chains(tmp_path / "runs", 1)
    light(LIGHT + "os.kill(os.getpid(), 9)").run([job], heard)
    assert heard.codes == {"chain 0": -9} and len(handed_in(cluster)) == 4
    assert "4 times without getting any further" in heard.ends["chain 0"].sentence
    assert (
        heard.sentences
        == ["chain 0 was killed, or its host was (Slurm says FAILED); resuming it"] * 3
    )


def test_a_folder_that_nodes_do_not_see_is_named(cluster, tmp_path, light, monkeypatch):
    monkeypatch.setattr(slurm, "SCRIPT", "#!/bin/sh\nexit 1\n")  # before it could write anything
    heard, (job,) = Heard(), chains(tmp_path / "runs", 1)
    light("").run([job], heard)
    assert heard.codes == {"chain 0": 2}
    assert f"must see that folder and `{sys.executable}`" in heard.ends["chain 0"].sentence


def test_a_signal_takes_all_jobs_out_of_the_queue_and_a_later_call_goes_on(
    cluster, tmp_path, light
):
    jobs, sent = chains(tmp_path / "runs", 3), []

    def look():
        if len([*place_of(jobs).rglob("*.tries")]) == 2 and not sent:
            wait_until(lambda: sum(p.stat().st_size for p in outs()) > 100, "both to listen")
            sent.append(os.kill(os.getpid(), signal.SIGTERM))

    def outs():
        return place_of(jobs).rglob("*.out")

    heard = Heard(look)
    assert light(UNTIL_ALLOWED, at_once=2).run(jobs, heard) == signal.SIGTERM
    assert heard.codes == {"chain 0": 143, "chain 1": 143}
    assert [task.state for task in cluster.tasks.values()] == ["FAILED", "FAILED", "CANCELLED"]
    (tmp_path / "go").touch()
    heard = Heard()
    assert light(UNTIL_ALLOWED).run(jobs, heard) is None
    assert set(heard.codes.values()) == {0} and not place_of(jobs).exists()


def test_jobs_of_one_who_is_gone_are_looked_after_not_handed_in_twice(
    cluster, tmp_path, light, monkeypatch
):
    class Gone(BaseException):
        """As if this process had been killed."""

    def look():
        if cluster.running():
            raise Gone

    jobs, heard = chains(tmp_path / "runs", 2), Heard()
    with monkeypatch.context() as patch, pytest.raises(Gone):
        patch.setattr(queued._Keeper, "kill", lambda keeper: None)
        light(UNTIL_ALLOWED).run(jobs, Heard(look))

    def allow_when_both_are_found():
        if len(heard.sentences) == 2:
            (tmp_path / "go").touch()

    heard.look = allow_when_both_are_found
    assert light(UNTIL_ALLOWED).run(jobs, heard) is None
    said = [f"chain {number} is in the queue already; looking after it" for number in (0, 1)]
    assert sorted(heard.sentences) == said and heard.codes == {"chain 0": 0, "chain 1": 0}
    assert len(handed_in(cluster)) == 1 and not place_of(jobs).exists()


def test_what_is_wrong_is_said_in_one_sentence(cluster, tmp_path, light, monkeypatch):
    cluster.refuses = "Invalid partition name specified"
    with pytest.raises(UserError, match=r"`sbatch` said: sbatch: error: Invalid partition name"):
        light("").run(chains(tmp_path / "runs", 1), Heard())
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match=r"`--engine slurm` needs .* `sbatch`, which is not on PA"):
        engine_named("slurm --partition=gpu")
    with pytest.raises(UserError, match=r"`--engine local` takes no options, got '--gpus=1'"):
        engine_named("local --gpus=1")
