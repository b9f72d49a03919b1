"""The engine of this machine, on jobs that are a few lines of Python."""

import os
import signal
import subprocess
import sys

import pytest

from pxsgmcmc.errors import Diverged
from pxsgmcmc.jobs import Ended, Job, JobFailed, Local
from pxsgmcmc.jobs.local import COMMAND
from tests.helpers.waiting import PATIENCE

START = """
import os, signal, sys, time
def tell(text):
    print('{"stage": "sample", "share": 0.5, "text": "%s"}' % text, flush=True)
job = sys.stdin.readline()
"""


def a_job(label="a job"):
    return Job("", "nowhere", label)


class Heard:
    """A watch that remembers."""

    def __init__(self, on_look=lambda heard: None):
        self.texts, self.sentences, self.codes = [], [], {}
        self._on_look = on_look

    def tell(self, job, stage, share, text):
        assert (stage, share) == ("sample", 0.5)
        self.texts.append(text)

    def say(self, job, sentence):
        self.sentences.append(sentence)

    def ended(self, job, ended):
        self.codes[job.label] = ended.code

    def look(self):
        self._on_look(self)


@pytest.fixture
def engine(tmp_path):
    """A function that makes an engine whose jobs run lines of Python."""

    def make(text, at_once=1, **options):
        program = tmp_path / "program.py"
        program.write_text(START + text)
        return Local(at_once, command=(sys.executable, str(program)), **options)

    return make


def test_a_job_that_keeps_dying_is_given_up(engine):
    heard = Heard()
    assert engine("tell('begun')\nos.kill(os.getpid(), 9)\n").run([a_job()], heard) is None
    assert heard.codes == {"a job": -9} and heard.texts == ["begun"] * 4
    assert heard.sentences == ["died of signal 9; resuming it"] * 3


def test_a_job_has_a_process_group_of_its_own_in_our_session_with_our_niceness(engine):
    heard = Heard()
    text = "tell(f'{os.getpgid(0) == os.getpid()} {os.getsid(0)} {os.nice(0)}')\n"
    engine(text).run([a_job()], heard)
    assert heard.texts == [f"True {os.getsid(0)} {os.nice(0)}"]


@pytest.mark.parametrize("code", [1, 2, 3, 4, 5, 143])
def test_an_exit_code_is_an_answer_and_the_job_is_not_started_again(engine, code):
    heard = Heard()
    assert engine(f"tell('begun')\nsys.exit({code})").run([a_job()], heard) is None
    assert heard.codes == {"a job": code} and heard.texts == ["begun"] and not heard.sentences


def once_begun(number):
    """On a look: send this process a signal when a job has said that it began."""

    def look(heard):
        if heard.texts:
            os.kill(os.getpid(), number)

    return look


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_passed_on_and_no_job_is_left(engine, number):
    def look(heard):
        if heard.texts and not sent:
            sent.append(os.kill(os.getpid(), number))

    sent, heard = [], Heard(look)
    text = "signal.signal(15, lambda *_: (tell('saved'), sys.exit(143)))\n"
    text += "tell('begun')\ntime.sleep(600)\n"
    assert engine(text).run([a_job(), a_job("never begun")], heard) == number
    assert heard.texts == ["begun", "saved"] and heard.codes == {"a job": 143}


def test_a_job_that_does_not_stop_is_killed(engine, tmp_path):
    text = "signal.signal(15, signal.SIG_IGN)\ntell(str(os.getpid()))\n"
    heard = Heard(once_begun(signal.SIGTERM))
    stubborn = engine(text + "while True: time.sleep(60)\n", patience=0.1)
    assert stubborn.run([a_job()], heard) == signal.SIGTERM
    assert heard.codes == {}
    with pytest.raises(ProcessLookupError):
        os.kill(int(heard.texts[0]), 0)


def test_a_job_that_was_stopped_before_it_listened_counts_as_stopped(engine):
    heard = Heard(once_begun(signal.SIGTERM))
    engine("tell('begun')\ntime.sleep(600)").run([a_job()], heard)
    assert heard.codes == {"a job": 143}


def test_a_few_work_at_once_and_all_come_to_their_end(engine):
    heard, jobs = Heard(), [a_job(str(number)) for number in range(3)]
    assert engine("tell('begun')", at_once=2).run(jobs, heard) is None
    assert heard.codes == {"0": 0, "1": 0, "2": 0} and len(heard.texts) == 3


def test_an_exception_on_an_end_stops_the_others(engine, tmp_path):
    text = "import json\nif json.loads(job)['label'] == 'fails': sys.exit(3)\n"
    text += f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    heard = Heard()

    def ended(job, ended):
        raise JobFailed(job, ended)

    heard.ended = ended
    with pytest.raises(JobFailed) as failure:
        engine(text, at_once=2).run([a_job("fails"), a_job("is stopped")], heard)
    assert failure.value.job.label == "fails" and failure.value.ended.code == 3
    if (tmp_path / "pid").exists():  # the other may not have come that far
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), 0)


def test_each_job_has_a_share_of_the_cores_and_one_thread(engine):
    text = "tell(' '.join(map(str, sorted(os.sched_getaffinity(0)))) + ' on '"
    text += " + os.environ.get('OMP_NUM_THREADS', 'all'))\n"
    alone, together = Heard(), Heard()
    engine(text).run([a_job()], alone)
    mine = sorted(os.sched_getaffinity(0))
    several = max(2, len(mine))  # also on one core, which they then share
    engine(text, at_once=several + 1).run([a_job(str(n)) for n in range(several)], together)
    # It may have asked before it was told.
    both = {f"{' '.join(map(str, cores))} on 1" for cores in [mine, *([core] for core in mine)]}
    assert len(together.texts) == several and set(together.texts) <= both
    everything = os.environ.get("OMP_NUM_THREADS", "all")
    assert alone.texts == [f"{' '.join(map(str, mine))} on {everything}"]


def test_what_a_failed_job_said_is_passed_on(engine):
    text = "sys.stderr.write('jax: a warning\\npxsgmcmc: It is not finite.\\n')\nsys.exit(3)"
    heard = Heard()
    failures = []
    heard.ended = lambda job, ended: failures.append(JobFailed(job, ended))
    engine(text).run([a_job()], heard)
    error = failures[0].as_error("Look.")
    assert isinstance(error, Diverged) and str(error) == "a job: It is not finite. Look."
    bug = JobFailed(a_job(), Ended(1, "Traceback\n  a bug\n"))
    assert bug.as_error() is bug and "a bug" in str(bug)


def test_a_job_sees_when_whoever_started_it_is_gone():
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    _, err = process.communicate(b"", timeout=PATIENCE)  # gone before the job was said
    assert (process.returncode, err) == (1, b"")
