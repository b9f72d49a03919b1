"""Every command, called in this process on one small run."""

import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from safetensors.numpy import save_file

from pxsgmcmc.chain import sample
from pxsgmcmc.cli import COMMANDS
from pxsgmcmc.config import parse_config, run_config, write_config
from pxsgmcmc.config.build import build
from pxsgmcmc.store import create_run, open_run, opening
from tests.helpers import chain_problems as problems
from tests.helpers.cli_calls import assert_one_line, call
from tests.helpers.small_settings import SMALL


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "small.toml"
    path.write_text(SMALL)
    return str(path)


@pytest.fixture(scope="module")
def finished(config, tmp_path_factory):
    """A run that was made by the command line, in a folder of runs."""
    folder = tmp_path_factory.mktemp("runs") / "small"
    said = call("run", config, "--out", str(folder), "--seed", "3")
    assert said.code == 0 and said.out.startswith(f"3 draws by PX-SGHMC (c=1, d=1) in {folder}; ")
    # Fifteen steps are far too few, and the last line says so.
    assert "so the momentum has not warmed up" in said.out.splitlines()[-1]
    return folder


@pytest.fixture
def copied(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "copy")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_each_command_teaches_by_example(name):
    said = call(*name.split(), "--help")
    assert "None" not in said.out, "what is not given has no default to be shown"
    assert said.code == 0 and f"pxsgmcmc {name}" in said.out
    examples = [line for line in said.out.splitlines() if f"  pxsgmcmc {name}" in line]
    assert examples


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("predict", "d", "f", "--skip", "abc"), "`--skip` must be a whole number, got 'abc'."),
        (("tune", "c", "--trials", "1.5"), "`--trials` must be a whole number, got '1.5'."),
        (("meta-train", "--sigma", "high"), "`--sigma` must be a number, got 'high'."),
        (("report", "d", "--titel", "x"), "There is no flag '--titel'; did you mean `--title`?"),
        (("compare", "a", "b", "--paired", "x"), "for argument '--paired'"),
    ],
)
def test_a_flag_that_cannot_be_read_is_named_without_types_of_python(arguments, words):
    said = call(*arguments)
    assert_one_line(said, 2, words)
    assert "None" not in said.err and "---" not in said.err


def test_the_overview_names_every_command_and_exit_code():
    for arguments in ([], ["--help"], ["help"]):
        said = call(*arguments)
        assert said.code == 0 and all(f"pxsgmcmc {name}" in said.out for name in COMMANDS)
        assert "0 done, 2 something in the input, 3 the chain diverged, 4 a damaged run" in said.out


def test_a_command_that_does_not_exist_is_corrected():
    assert_one_line(call("rum"), 2, "did you mean `run`?")
    assert_one_line(call("config"), 2, "needs one of: check, show")


def test_the_resolved_configuration_and_flags_are_kept(finished):
    text = open_run(finished).config
    assert "seed = 3" in text and "limit = 60" in text and "checkpoint_seconds = 10.0" in text


def test_a_used_directory_is_refused_with_advice(config, finished):
    said = call("run", config, "--out", str(finished))
    assert_one_line(said, 2, "already holds a run", "--resume", "--out")
    other = call("run", config, "--out", str(finished), "--resume")
    assert_one_line(other, 2, "began with another seed (3; now 0)")


def test_a_finished_run_is_not_run_again(finished):
    assert call("resume", str(finished)).out == f"{finished} is done, with 3 draws\n"


def test_show_says_what_how_far_and_how_well(finished):
    said = call("show", str(finished))
    assert said.code == 0
    for words in (
        "PX-SGHMC (c=1, d=1) on digits (first 60 rows), mlp",
        "done",
        "3/3",
        "scan executor",
    ):
        assert words in said.out
    assert "kinetic temperature  base" in said.out and "\nverdict " in said.out


def test_show_warns_of_a_temperature_that_is_far_off(finished, tmp_path):
    stored = open_run(finished)
    facts = stored.draws[-1].facts | {"temperature": {"base": 1.05, "factors": 7.0}}
    with create_run(tmp_path / "hot", stored.config, stored.manifest["origin"]) as run:
        run.commit_draw(stored.load_draw(3), step=15, energy=1.0, **facts)
        run.update("done")
    said = call("show", str(tmp_path / "hot"))
    assert "verdict              not healthy: T[base] 1.05, T[factors] 7" in said.out
    assert "The kinetic temperature of factors over the last cycle is 7, where" in said.out
    assert "so these are not draws from the posterior: lower `step_size`" in said.out
    assert "temperature of base" not in said.out


def test_list_has_a_line_for_each_run_and_marks_damage(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "good")
    shutil.copytree(finished, tmp_path / "[red]bad")
    manifest = tmp_path / "[red]bad/manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b"running", b"runnin6").replace(b"a", b"b"))
    lines = call("list", str(tmp_path)).out.splitlines()
    bad, good = (next(line for line in lines if name in line) for name in ("[red]bad", "good"))
    assert "damaged" in bad and "verify" in bad
    assert "done" in good and "3/3" in good and len(lines) == 3
    (tmp_path / "empty").mkdir()
    assert call("list", str(tmp_path / "empty")).out.startswith("No runs under")
    assert_one_line(call("list", str(tmp_path / "nowhere")), 2, "There is no folder")


def test_verify_says_four_for_damage_and_zero_for_none(copied):
    assert call("verify", str(copied)).code == 0
    draw = copied / "draws/000002.safetensors"
    data = bytearray(draw.read_bytes())
    data[-1] ^= 1
    draw.write_bytes(data)
    assert_one_line(call("verify", str(copied)), 4, "000002.safetensors", "SHA-256")
    (copied / "index.jsonl").unlink()
    for command in ("show", "verify", "resume"):
        assert_one_line(call(command, str(copied)), 4, "index.jsonl` is missing")


def test_a_directory_that_is_no_run_is_named(tmp_path):
    for command in ("show", "verify", "resume"):
        assert_one_line(call(command, str(tmp_path)), 2, str(tmp_path), "run directory")


def test_a_run_of_another_version_says_so(copied, monkeypatch):
    monkeypatch.setattr(opening, "version", lambda: "9.9.9")
    assert "was made by version 0.1.0, this is 9.9.9" in call("show", str(copied)).out


def test_a_run_of_a_version_with_fewer_settings_goes_on(config, tmp_path, monkeypatch):
    def older(text):
        return write_config(text).replace("threads = 2\n", "")

    monkeypatch.setattr(run_config, "write_config", older)
    flags = ["--chain.draws", "1", "--out", str(tmp_path / "run")]
    assert call("run", config, *flags).code == 0
    assert "threads" not in open_run(tmp_path / "run").config
    monkeypatch.undo()
    assert call("run", config, *flags, "--resume").code == 0


def test_a_second_writer_is_refused_while_the_first_lives(config, copied):
    program = (
        "import sys, pxsgmcmc.store as s; r = s.open_run(sys.argv[1], writable=True)\n"
        "print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(copied)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as writer:
        assert writer.stdout and writer.stdout.readline()
        said = call("run", config, "--out", str(copied), "--seed", "3", "--resume")
        assert_one_line(said, 5, f"is being written by process {writer.pid}")
        writer.kill()  # and the lock stays behind
    assert (copied / "lock").exists()
    assert call("run", config, "--out", str(copied), "--seed", "3", "--resume").code == 0
    assert not (copied / "lock").exists()


def test_a_run_that_was_started_from_python_is_resumed_there(tmp_path):
    sampler, start = problems.SAMPLERS["sgld"], problems.start_of("sgld")
    settings = {"draws": 1, "cycle_length": 10, "batch_size": 7, "progress": False}
    sample(sampler, start, problems.DATA, **settings, out=tmp_path / "run")
    assert_one_line(call("resume", str(tmp_path / "run")), 2, "was started from Python")
    assert "started from Python" in call("show", str(tmp_path / "run")).out


def test_a_divergence_is_three_and_its_draws_stay(config, tmp_path):
    flags = ["--sampler.step_size", "50.0", "--out", str(tmp_path / "run")]
    said = call("run", config, *flags)
    assert said.code == 3 and "Lower `step_size`" in said.err.splitlines()[-1]
    assert "Traceback" not in said.err
    shown = call("show", str(tmp_path / "run")).out
    assert "status       diverged" in shown and "It diverged: " in shown


def test_a_chain_starts_from_a_draw_or_from_given_weights(config, finished, tmp_path):
    weights = open_run(finished).load_draw(2)
    save_file(weights, tmp_path / "weights.safetensors")
    frozen = ["--sampler.step_size", "1e-30", "--chain.draws", "1"]
    for i, start in enumerate((f"{finished}:2", str(tmp_path / "weights.safetensors"))):
        out = tmp_path / str(i)
        assert call("run", config, *frozen, f"--chain.start={start}", "--out", str(out)).code == 0
        moved = open_run(out).load_draw(1)
        assert all(np.array_equal(moved[name], weights[name]) for name in weights)


@pytest.mark.parametrize(
    ("prior", "size"),  # mean of |x|
    [
        ("{ variance = 0.25 }", 0.5 * math.sqrt(2 / math.pi)),
        ('{ family = "laplace", scale = 0.5 }', 0.5),
        ('{ family = "student_t", scale = 0.5, freedom = 3.0 }', 0.5 * 2 * math.sqrt(3) / math.pi),
    ],
)
def test_a_chain_starts_from_a_draw_of_its_prior_another_for_each_chain(config, prior, size):
    flags = ["--chain.start=prior", f"--prior={prior}", "--expansion={ out = 0, into = 0 }"]
    built = build(parse_config(Path(config).read_text(), flags))
    first, again, second = (
        np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(built.position(chain))])
        for chain in (0, 0, 1)
    )
    assert np.array_equal(first, again) and not np.any(first == second)
    # |x| has a standard deviation below twice its mean: 5 standard errors, a false alarm of 1e-6.
    assert abs(np.abs(first).mean() - size) < 5 * 2 * size / math.sqrt(len(first))


@pytest.mark.parametrize(
    ("start", "words"),
    [
        ("nowhere", "must be a run directory"),
        ("nowhere.safetensors", "No such file"),
        ("{run}:7", "has 3 draws"),
        ("{run}:0", "at least 1"),
        ("{run}/manifest.json.safetensors", "not a safetensors file"),
    ],
)
def test_a_start_that_cannot_be_used_is_named(config, finished, tmp_path, start, words):
    shutil.copytree(finished, tmp_path / "run")
    os.link(tmp_path / "run/manifest.json", tmp_path / "run/manifest.json.safetensors")
    chosen = start.format(run=tmp_path / "run")
    said = call("run", config, "--out", str(tmp_path / "new"), "--chain.start", chosen)
    assert_one_line(said, 2, "`chain.start`", words)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--data.name", "digit"], "`data.name` cannot be 'digit'; did you mean `digits`?"),
        (["--data.name", "photos-sklearn"], "`data.name` must be a set to train"),
        (["--chain.batch_size", "61"], "`chain.batch_size` must be at most the 60"),
        (["--sampler.friction.base", "-1"], "`sampler.friction.base` must be"),
    ],
)
def test_what_only_the_data_can_tell_is_named_too(config, tmp_path, flags, words):
    assert_one_line(call("run", config, "--out", str(tmp_path / "new"), *flags), 2, words)
    assert not (tmp_path / "new").exists()
