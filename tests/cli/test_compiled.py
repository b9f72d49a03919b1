"""Compiled programs are kept between starts of the command, and not for ever."""

import os
import subprocess
import sys
import zlib

import pytest

from pxsgmcmc.cli import COMMANDS, COMPILING
from pxsgmcmc.cli.compiled import make_room, remember_compilations, remove_torn
from tests.helpers.small_settings import write_own_problem


@pytest.fixture(autouse=True)
def the_environment_is_put_back(monkeypatch):
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "1")
    monkeypatch.delenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")


def python(code):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_commands_that_compile_do_not_import_jax_before_they_are_called():
    modules = {f"pxsgmcmc.cli.{COMMANDS[name].home.partition(':')[0]}" for name in COMPILING}
    assert len(modules) >= 5
    code = f"import sys, {', '.join(sorted(modules))}; print('jax' in sys.modules)"
    assert python(code) == "False\n"


def run(tmp_path, out, *flags, **environment):
    settings = write_own_problem(tmp_path)
    inherited = {k: v for k, v in os.environ.items() if "CACHE" not in k}
    done = subprocess.run(
        [sys.executable, "-m", "pxsgmcmc", "run", settings, "--out", out, *flags],
        cwd=tmp_path,
        env=inherited | {"PXSGMCMC_DATA": str(tmp_path / "cache")} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "Warning" not in done.stderr, done.stderr


def test_a_run_leaves_its_programs_and_no_warning_and_mends_torn_ones(tmp_path):
    run(tmp_path, "first")
    programs = list((tmp_path / "cache/compiled").glob("*-cache"))
    step = max(programs, key=lambda path: path.stat().st_size)
    whole = step.stat().st_size
    os.truncate(step, whole // 2)  # as a kill in the midst of writing leaves it
    run(tmp_path, "second")
    assert step.stat().st_size > 0.9 * whole
    os.truncate(step, whole // 2)
    run(tmp_path, "third", JAX_COMPILATION_CACHE_DIR=str(step.parent))  # not ours to remove
    assert step.stat().st_size == whole // 2


@pytest.mark.slow
def test_chains_that_meet_half_written_programs_do_not_warn(tmp_path):
    run(tmp_path, "first", "--chains", "2")
    programs = list((tmp_path / "cache/compiled").glob("*-cache"))
    assert programs
    for program in programs:  # as they look to a chain while another writes them
        os.truncate(program, program.stat().st_size // 2)
    run(tmp_path, "second", "--chains", "2", JAX_COMPILATION_CACHE_DIR=str(programs[0].parent))


def test_a_folder_that_the_user_chose_stays(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "jax")
    monkeypatch.setenv("PXSGMCMC_DATA", str(tmp_path))
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "mine")
    remember_compilations()
    assert os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] == "0"  # small programs too
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "mine" and not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_made_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.delitem(sys.modules, "jax")
    monkeypatch.setenv("PXSGMCMC_DATA", str(tmp_path / "file"))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    remember_compilations()
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ


def test_torn_programs_are_removed_and_looked_at_once(tmp_path):
    whole = zlib.compress(os.urandom(1000))
    contents = {"whole": whole, "torn": whole[:-1], "empty": b"", "zstd": b"\x28\xb5\x2f\xfd"}
    for name, program in contents.items():
        (tmp_path / f"{name}-cache").write_bytes(program)
    remove_torn(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"whole-cache", "zstd-cache", "checked"}
    for name, age in {"older": 10, "newer": -10}.items():
        (tmp_path / f"{name}-cache").write_bytes(b"")
        when = (tmp_path / "checked").stat().st_mtime - age
        os.utime(tmp_path / f"{name}-cache", (when, when))
    remove_torn(tmp_path)
    assert (tmp_path / "older-cache").exists() and not (tmp_path / "newer-cache").exists()


@pytest.mark.parametrize("most, left", [(40, "abcd"), (39, "d"), (20, "d"), (1, "")])
def test_the_oldest_programs_make_room(tmp_path, most, left):
    for age, name in enumerate("dcba"):
        (tmp_path / name).write_bytes(bytes(10))
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    make_room(tmp_path, most)
    assert "".join(sorted(path.name for path in tmp_path.iterdir())) == left
