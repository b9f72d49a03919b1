"""Closed descriptors, a full disk, little memory, absent devices: said in one line."""

import errno
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from pxsgmcmc.errors import UserError
from pxsgmcmc.store import verify
from pxsgmcmc.store.files import writing
from tests.helpers.cli_calls import call
from tests.helpers.small_runs import three_draws
from tests.helpers.small_settings import SMALL
from tests.helpers.waiting import PATIENCE

PROGRAM = [sys.executable, "-m", "pxsgmcmc"]


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def shell(
    folder: Path, *words: str, after: str = "", before: str = "", **environment: str
) -> Ended:
    """`before; exec pxsgmcmc words after`, in a shell of its own."""
    command = f"{before} exec {shlex.join([*PROGRAM, *words])} {after}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=PATIENCE,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def assert_one_line(ended: Ended, *words: str) -> None:
    assert ended.code == 2, ended
    assert ended.err.startswith("pxsgmcmc: ") and ended.err.count("\n") == 1, ended
    for word in words:
        assert word in ended.err, ended


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """A run with results, to report on and to compare."""
    place = three_draws(tmp_path_factory.mktemp("evaluated") / "run")
    assert call("evaluate", str(place)).code == 0
    return place


# Commands that compute in this process before any run is there.
ELSEWHERE = [
    ["pilot", "small.toml"],
    ["tune", "small.toml", "--trials", "1", "--out", "search"],
    ["meta-train", "--outer-steps", "1", "--out", "meta"],
    ["config", "check", "small.toml"],
    ["reproduce", "toy", "--seeds", "1", "--results", "kept", "--runs", "runs", "--pages", "pages"],
]
CLOSED = ["2>&-", "1>&-", "0>&-", "0>&- 1>&- 2>&-"]


@pytest.mark.parametrize("closed", CLOSED)
def test_a_refusal_has_its_exit_code_whatever_is_closed(folder, closed):
    ended = shell(folder, "show", "nothing", after=closed)
    assert ended.code == 2 and "Traceback" not in ended.err + ended.out


@pytest.mark.slow
@pytest.mark.parametrize("closed", CLOSED)
def test_a_run_survives_closed_descriptors_and_nothing_leaks_into_its_files(folder, closed):
    # A library's own words on standard error would go to whatever file got its number.
    ended = shell(
        folder, "run", "small.toml", "--out", "run", after=closed, TF_CPP_MIN_LOG_LEVEL="0"
    )
    assert ended.code == 0, ended
    assert verify(folder / "run").problems == []


def test_little_address_space_is_said_before_jax_starts(folder):
    ended = shell(folder, "run", "small.toml", "--out", "run", before="ulimit -v 1500000;")
    assert_one_line(ended, "address space", "1.5 GB", "ulimit -v")
    assert not (folder / "run").exists()


def test_commands_that_only_look_need_little_address_space(folder, evaluated):
    for words in (["verify", str(evaluated)], ["list", str(evaluated.parent)], ["config", "show"]):
        assert shell(folder, *words, before="ulimit -v 1500000;").code == 0, words


@pytest.mark.slow
def test_devices_that_are_not_there_are_named(folder):
    ended = shell(folder, "run", "small.toml", "--out", "run", JAX_PLATFORMS="cuda")
    assert_one_line(ended, "`JAX_PLATFORMS`", "'cuda'", "unset it")
    assert not (folder / "run").exists()
    ended = shell(
        folder, "run", "small.toml", "--out", "two", "--chains", "2", JAX_PLATFORMS="cuda"
    )
    assert ended.code == 2 and ended.err.count("must name devices that are there") == 1
    for words in ELSEWHERE:
        ended = shell(folder, *words, JAX_PLATFORMS="cuda")
        assert_one_line(ended, "`JAX_PLATFORMS`", "'cuda'", "unset it")
    ended = shell(folder, "run", "small.toml", "--out", "run", JAX_PLATFORMS="abacus")
    assert_one_line(ended, "`JAX_PLATFORMS`", "'abacus'")


@pytest.mark.slow
def test_wide_numbers_are_refused_for_a_configuration_and_explained_for_a_run(folder, evaluated):
    ended = shell(folder, "run", "small.toml", "--out", "run", JAX_ENABLE_X64="1")
    assert_one_line(ended, "`JAX_ENABLE_X64` must be off")
    assert not (folder / "run").exists()
    for words in ELSEWHERE[:3]:
        assert_one_line(shell(folder, *words, JAX_ENABLE_X64="1"), "`JAX_ENABLE_X64` must be off")
    ended = shell(folder, "evaluate", str(evaluated), JAX_ENABLE_X64="1")
    assert ended.code == 2 and "Traceback" not in ended.err
    assert "JAX_ENABLE_X64=0, as when it was made" in ended.err.splitlines()[-1]


def on_a_full_disk(folder: Path, *words: str) -> Ended:
    """No file may grow beyond 1 kB, which the system says as it does of a full disk."""
    return shell(folder, *words, before="ulimit -f 1;", JAX_COMPILATION_CACHE_DIR="")


def assert_says_what_to_do(ended: Ended) -> None:
    last = ended.err.splitlines()[-1]
    assert ended.code == 2 and last.startswith("pxsgmcmc: ") and "Traceback" not in ended.err, ended
    assert "storage is full" in last and "make room, then give the same command again" in last
    assert "--resume" not in last


def test_a_full_disk_while_images_are_corrupted_leaves_nothing(folder):
    ended = on_a_full_disk(folder, "data", "corrupt", "digits", "out", "--limit", "200")
    assert_says_what_to_do(ended)
    assert [p.name for p in folder.iterdir()] == ["small.toml"]


def test_a_full_disk_while_comparing_leaves_nothing(folder, evaluated):
    ended = on_a_full_disk(folder, "compare", str(evaluated), "-o", "c.json")
    assert_says_what_to_do(ended)
    assert [p.name for p in folder.iterdir()] == ["small.toml"]


def test_a_full_disk_during_a_search_is_met_with_advice_that_the_search_understands(folder):
    os.mkdir(folder / "search")
    with pytest.raises(UserError, match="then give the same command again, `run` with `--resume`"):
        with writing(folder / "search" / "trials.json"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.slow
def test_a_full_disk_while_reporting_leaves_what_was_there(folder, evaluated):
    assert shell(folder, "report", str(evaluated)).code == 0
    page = (evaluated / "report.html").read_bytes()
    assert_says_what_to_do(on_a_full_disk(folder, "report", str(evaluated), "-o", "r.html"))
    assert_says_what_to_do(on_a_full_disk(folder, "report", str(evaluated)))
    assert [p.name for p in folder.iterdir()] == ["small.toml"]
    assert (evaluated / "report.html").read_bytes() == page
    assert verify(evaluated).problems == []
