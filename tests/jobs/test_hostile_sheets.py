"""Whoever can write to a folder of runs can put a sheet of jobs there: it is looked at, no more."""

import json
import os

import pytest

from pxsgmcmc.errors import CorruptRun
from pxsgmcmc.jobs.sheet import read_sheet
from tests.helpers.cli_calls import call

FACTS = {"engine": "none", "count": 3, "cwd": "/", "python": "python"}
ESCAPE = "\x1b[2J"


@pytest.fixture
def folder(tmp_path):
    """A folder of runs with a sheet in it."""
    sheet = tmp_path / "runs" / ".jobs" / "one"
    sheet.mkdir(parents=True)
    (sheet / "sheet.json").write_text(json.dumps(FACTS))
    return sheet


def looked_at(sheet):
    """What `pxsgmcmc jobs` says; none of its text acts on a terminal."""
    said = call("jobs", str(sheet.parents[1]))
    assert said.code == 0, said
    assert all(line.isprintable() for line in (said.out + said.err).split("\n"))
    return said.out


def write_job(sheet, number, **facts):
    job = {"config": "", "folder": str(sheet.parents[1] / "run"), "label": "x", **facts}
    (sheet / f"{number:04}.job").write_text(json.dumps(job))


def put_pipe(path):
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def put_device(path):
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("put", [put_pipe, put_device])
@pytest.mark.parametrize("name", ["sheet.json", "0000.job", "0000.end", "0000.err", "names"])
def test_no_pipe_or_device_is_waited_for(folder, put, name):
    write_job(folder, 0)
    if name == "0000.err":
        (folder / "0000.end").write_text('{"code": 2}')
    put(folder / name)
    looked_at(folder)


@pytest.mark.parametrize(
    "facts",
    [{"count": 10**9}, {"count": -1}, {"engine": ESCAPE}, {"count": "many"}, {"cwd": None}],
    ids=str,
)
def test_a_forged_sheet_is_answered_at_once(folder, facts):
    (folder / "sheet.json").write_text(json.dumps(FACTS | facts))
    write_job(folder, 0)
    looked_at(folder)


def test_text_of_a_forged_job_does_not_act(folder):
    write_job(folder, 0, label=ESCAPE, folder=str(folder.parents[1] / f"a{ESCAPE}"))
    write_job(folder, 1, folder="not/absolute")
    (folder / "0000.end").write_text(json.dumps({"code": 2, "host": ESCAPE, "why": ESCAPE}))
    (folder / "nothing.end").write_text("{}")
    assert "failed" in looked_at(folder)


def test_a_job_that_is_none_is_damage(folder):
    (folder / "0000.job").write_text("[1]")
    with pytest.raises(CorruptRun, match="not as it was written"):
        read_sheet(folder).job(0)
