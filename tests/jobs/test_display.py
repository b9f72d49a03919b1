"""What a person sees of jobs: lines in a pipe, rows on a terminal."""

import sys
from types import SimpleNamespace

import pytest

from pxsgmcmc.jobs import Ended, Job, display
from pxsgmcmc.jobs.display import Display


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    monkeypatch.setattr(display, "WORK", {"sample": 60.0, "evaluate": 30.0, "diagnose": 10.0})
    return [
        Job("", str(tmp_path / "0"), "SGHMC, seed 0", stages=("sample", "evaluate", "diagnose")),
        Job("", str(tmp_path / "1"), "SGHMC, seed 1", stages=("sample", "evaluate")),
    ]


def test_lines_say_how_far_each_job_is_and_when_all_end(jobs, capsys, monkeypatch):
    moment = 0.0
    monkeypatch.setattr(display, "time", SimpleNamespace(monotonic=lambda: moment))
    shown = Display("demo", jobs, lambda job, ended: None)
    shown.tell(jobs[0], "evaluate", 0.5, "test, draw 2/4, and more")
    moment = 75.0
    shown.look()
    moment = 75.1
    shown.look()  # a moment later there is nothing to say
    # 75 of 190 seconds of work are done, in as many: 1:55 is left.
    line = "demo: 39%, about 1:55 left; SGHMC, seed 0: evaluating, test, draw 2/4\n"
    assert capsys.readouterr().err == line
    shown.ended(jobs[0], Ended(0))
    moment = 100.0
    shown.look()
    assert capsys.readouterr().err == "demo: 53%, about 1:30 left\n"
    assert shown.todo == [jobs[1]]
    shown.ended(jobs[1], Ended(0))
    shown.look()
    shown.look()
    assert capsys.readouterr().err == "demo: 100%\n"


def test_sentences_stay_and_say_which_job_they_are_about(jobs, capsys):
    shown = Display("demo", jobs, lambda job, ended: f"{job.label} is over")
    shown.say(jobs[0], "died of signal 9; resuming it")
    shown.say(jobs[0], "The run began with jax 1.")
    shown.ended(jobs[1], Ended(3))
    assert capsys.readouterr().err.splitlines() == [
        "SGHMC, seed 0 died of signal 9; resuming it",
        "SGHMC, seed 0: The run began with jax 1.",
        "SGHMC, seed 1 is over",
    ]
    assert shown.rows[jobs[1]].text == "ended with code 3"


def test_a_terminal_has_a_row_for_each_job_and_one_for_all(jobs, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    shown = Display("demo", jobs, lambda job, ended: None)
    shown.tell(jobs[0], "sample", 0.5, "draw 2/4")
    shown.look()
    shown.close()
    seen = capsys.readouterr().err
    assert "SGHMC, seed 0" in seen and "sampling, draw 2/4" in seen
    assert "SGHMC, seed 1" in seen and "waiting" in seen and "16%" in seen


def test_a_reader_that_goes_away_does_not_end_the_jobs(jobs, monkeypatch):
    class Closed:
        def isatty(self):
            return False

        def write(self, text):
            raise BrokenPipeError

        def flush(self):
            pass

    monkeypatch.setattr(sys, "stderr", Closed())
    shown = Display("demo", jobs, lambda job, ended: None)
    shown.look()
    shown.announce("Nobody hears this.")
    shown.close()


def test_of_many_jobs_a_terminal_shows_those_that_run(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    many = [Job("", str(tmp_path / str(n)), f"job {n}") for n in range(display.MOST_ROWS + 1)]
    shown = Display("all", many, lambda job, ended: None)
    shown.tell(many[3], "sample", 0.5, "draw 1/2")
    shown.look()
    tasks = shown._shown._bars.tasks
    shown.close()
    assert [task.description for task in tasks if task.visible] == ["job 3", "all"]
