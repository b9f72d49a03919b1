"""The command line on run directories of real chains that were harmed: one line, exit code 4."""

import random
import shutil
from pathlib import Path

import pytest

from tests.helpers.cli_calls import assert_one_line, call
from tests.reliability.proofs import record
from tests.reliability.small_chains import run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two finished runs of the same chain with other seeds."""
    folder = tmp_path_factory.mktemp("runs")
    for seed in (1, 2):
        run("sghmc", folder / str(seed), seed=seed, draws=4, checkpoint_seconds=0.0)
    return folder / "1", folder / "2"


def truncate(path: Path, others: Path, choices: random.Random) -> None:
    path.write_bytes(path.read_bytes()[: choices.randrange(1, path.stat().st_size)])


def empty(path: Path, others: Path, choices: random.Random) -> None:
    path.write_bytes(b"")


def remove(path: Path, others: Path, choices: random.Random) -> None:
    path.unlink()


def swap(path: Path, others: Path, choices: random.Random) -> None:
    other = choices.choice([one for one in files_of(path.parents[1]) if one != path])
    mine = path.read_bytes()
    path.write_bytes(other.read_bytes())
    other.write_bytes(mine)


def exchange(path: Path, others: Path, choices: random.Random) -> None:
    """Put the file of another run in its place."""
    path.write_bytes((others / path.parent.name / path.name).read_bytes())


def flip_a_bit(path: Path, others: Path, choices: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[choices.randrange(len(data))] ^= 1 << choices.randrange(8)
    path.write_bytes(data)


def add_a_stranger(path: Path, others: Path, choices: random.Random) -> None:
    path.with_name("stranger").write_bytes(b"hello")


HARMS = [truncate, empty, remove, swap, exchange, flip_a_bit, add_a_stranger]


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def harm_and_verify(runs, folder, cases, seed):
    """How many harmed directories `verify` refused in one line with exit code 4."""
    choices = random.Random(seed)
    for case in range(cases):
        copy = shutil.copytree(runs[0], folder / str(case))
        harm = HARMS[case % len(HARMS)]
        inside = [path for path in files_of(copy) if path.parent != copy]
        path = choices.choice(inside if harm in (swap, exchange) else files_of(copy))
        harm(path, runs[1], choices)
        assert_one_line(call("verify", str(copy)), 4, str(copy))
        shutil.rmtree(copy)
    return cases


def test_harmed_runs_are_refused_in_one_line_with_code_four(runs, tmp_path):
    assert call("verify", str(runs[0])).code == 0
    harm_and_verify(runs, tmp_path, 35, seed=1)


@pytest.mark.slow
def test_three_hundred_harmed_runs_are_refused_in_one_line_with_code_four(runs, tmp_path):
    cases = harm_and_verify(runs, tmp_path, 350, seed=2)
    record("harmed_runs", cases=cases, refused=cases)
