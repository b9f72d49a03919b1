"""The command `pxsgmcmc evaluate`."""

import pytest

from pxsgmcmc.store import open_run, verify
from tests.helpers.cli_calls import assert_one_line, call
from tests.helpers.small_runs import three_draws


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return three_draws(tmp_path_factory.mktemp("evaluate") / "run")


def test_it_prints_a_table_and_writes_hashed_results(run):
    flags = ["--evaluate.corruptions", "true", "--evaluate.corrupted_rows", "2"]
    flags += ["--evaluate.out_of_distribution", '["photos-skimage"]']
    said = call("evaluate", str(run), *flags)
    assert said.code == 0, said
    lines = [line.split() for line in said.out.splitlines()]
    assert lines[0][:2] == ["PX-SGHMC", "(c=1,"]
    assert lines[1] == ["rows", "ERR", "NLL", "ECE", "Brier", "AMB", "Epistemic"]
    names = [line[0] for line in lines[2:5]]
    assert names == ["test", "validation", "train"]
    assert [line[:3] for line in lines[5:11]] == [
        *(["corrupted,", str(severity), "38"] for severity in range(1, 6)),
        ["all", "corruptions", "190"],
    ]
    assert any(line[:1] == ["photos-skimage"] for line in lines)
    assert b'"photos-skimage"' in open_run(run).read_artifact("results.json")
    assert verify(run).problems == []


def test_what_is_wrong_is_said_in_one_line(run, tmp_path):
    assert_one_line(call("evaluate", str(tmp_path / "x")), 2, "must be a run directory")
    said = call("evaluate", str(run), "--evaluate.shift", "[]")
    assert_one_line(said, 2, "did you mean `shifts`?")
    said = call("evaluate", str(run), "--outputs", str(run / "config.toml"))
    assert_one_line(said, 2, "`--outputs`", "outside of run directories")
    (tmp_path / "file").touch()
    said = call("evaluate", str(run), "--outputs", str(tmp_path / "file"))
    assert_one_line(said, 2, str(tmp_path / "file"))
    with open_run(run, writable=True):
        assert_one_line(call("evaluate", str(run)), 5, "being written by process")
