"""`pxsgmcmc config check` loads what a configuration names and says what it saw."""

import shutil

import msgspec
import numpy as np
import pytest

from pxsgmcmc.config import parse_config
from pxsgmcmc.store import manifest
from tests.helpers.cli_calls import assert_one_line, call
from tests.helpers.small_runs import sampled
from tests.helpers.small_settings import SMALL

OWN = """
[data]
train = { x = "X.npy", y = "y.npy" }
validation = 0.25

[model]
name = "mlp"
widths = [4]

[sampler]
name = "sgld"
step_size = 1e-4

[chain]
draws = 2
cycle_length = 5
batch_size = 10
"""


@pytest.fixture
def files(tmp_path):
    random = np.random.default_rng(0)
    np.save(tmp_path / "X.npy", random.normal(size=(40, 3)))
    np.save(tmp_path / "y.npy", random.integers(0, 2, 40))
    (tmp_path / "own.toml").write_text(OWN)
    return tmp_path


def test_config_check_says_what_it_saw_in_the_users_files(files):
    said = call("config", "check", str(files / "own.toml"))
    assert said.code == 0, said
    seen = "\n".join(line for line in said.out.splitlines() if line.startswith("# "))
    assert "classification into 2 classes" in seen and "train: 30 rows" in seen
    assert "validation: 10 rows" in seen and "standardised" in seen
    settings = "\n".join(line for line in said.out.splitlines() if not line.startswith("#"))
    assert parse_config(settings).chain.draws == 2  # what is printed is a configuration
    assert "temperature" not in settings and len(settings.splitlines()) < 25
    whole = call("config", "check", str(files / "own.toml"), "--defaults").out
    assert "temperature = 1.0" in whole
    assert parse_config(whole) == parse_config(settings)


def test_config_check_says_what_is_wrong_with_the_users_files_and_prints_nothing(files):
    check = ("config", "check", str(files / "own.toml"))
    assert_one_line(call(*check, "--chain.batch_size", "31"), 2, "at most the 30 training rows")
    np.save(files / "y.npy", np.arange(1, 41))
    assert_one_line(call(*check, "--data.task", "classification"), 2, "y.npy")
    np.save(files / "y.npy", np.zeros(39, int))
    assert_one_line(call(*check), 2, "39")
    (files / "X.npy").unlink()
    assert_one_line(call(*check), 2, "X.npy")


@pytest.mark.parametrize("format", [1, manifest.FORMAT + 1])
def test_a_run_of_the_older_layout_or_of_a_newer_one_says_so_in_one_sentence(format, tmp_path):
    sampled(tmp_path / "run", "--chain.draws", "1")
    facts = msgspec.structs.replace(manifest.read(tmp_path / "run"), format=format)
    shutil.copytree(tmp_path / "run", tmp_path / "other")
    manifest.write(tmp_path / "other", facts)
    for command in ("show", "verify", "resume", "evaluate", "diagnose", "report"):
        said = call(command, str(tmp_path / "other"))
        assert_one_line(said, 2, f"is in format {format}, made by version", "use the one that made")
    (tmp_path / "small.toml").write_text(SMALL)
    out = ["--out", str(tmp_path / "other"), "--resume"]
    said = call("run", str(tmp_path / "small.toml"), *out)
    assert_one_line(said, 2, f"is in format {format}")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--draws", "5"], "There is no flag '--draws'; did you mean `--chain.draws`?"),
        (["--ot=runs/x"], "There is no flag '--ot'; did you mean `--out`?"),
        (["--seed", "1", "--accept-change"], "did you mean `--accept-changes`?"),
        (["--qqq", "1"], "There is no flag '--qqq'; see `pxsgmcmc run --help`."),
    ],
)
def test_a_flag_that_does_not_exist_is_corrected(tmp_path, flags, words):
    (tmp_path / "small.toml").write_text(SMALL)
    said = call("run", str(tmp_path / "small.toml"), "--out", str(tmp_path / "new"), *flags)
    assert_one_line(said, 2, words)
    assert not (tmp_path / "new").exists()
