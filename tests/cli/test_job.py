"""The process of a job that a queue starts, and the exit code that it leaves."""

import shutil

import pytest

from pxsgmcmc.cli import job as job_process
from pxsgmcmc.errors import Locked
from pxsgmcmc.jobs import Job
from pxsgmcmc.jobs.sheet import new_sheet


@pytest.fixture
def sheet(tmp_path):
    return new_sheet("slurm", [Job("", str(tmp_path / "runs" / "a"), "a")], "python")


def ends_as(sheet, monkeypatch, happens):
    """Do the job of the sheet, in whose place `happens` is called."""
    monkeypatch.setattr(job_process, "_do", lambda job, progress_of: happens())
    return job_process.main_of_queue(str(sheet.folder), "0")


def lose_place(sheet, before):
    def happens():
        before()
        raise Locked("another process has taken over")

    return happens


def test_a_job_leaves_its_exit_code(sheet, monkeypatch):
    assert ends_as(sheet, monkeypatch, lambda: 3) == 3 == sheet.end(0).code


def test_a_job_that_finds_its_run_locked_says_so(sheet, monkeypatch):
    assert ends_as(sheet, monkeypatch, lose_place(sheet, lambda: None)) == 5 == sheet.end(0).code


def test_one_that_lost_its_place_does_not_speak_over_the_one_that_took_it(sheet, monkeypatch):
    assert ends_as(sheet, monkeypatch, lose_place(sheet, lambda: sheet.write_end(0, 0))) == 5
    assert sheet.end(0).code == 0


def test_one_that_lost_its_place_may_find_its_sheet_removed(sheet, monkeypatch):
    gone = lose_place(sheet, lambda: shutil.rmtree(sheet.folder))
    assert ends_as(sheet, monkeypatch, gone) == 5 and not sheet.folder.exists()
