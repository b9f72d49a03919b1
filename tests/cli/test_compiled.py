"""Compiled programs are kept between starts of the command, and not for ever."""

import os
import subprocess
import sys

import pytest

from pxsgmcmc.cli import COMMANDS, COMPILING
from pxsgmcmc.cli.compiled import make_room, remember_compilations
from tests.cli.settings import SMALL


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


def test_a_run_leaves_its_programs_and_no_warning(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    environment = {k: v for k, v in os.environ.items() if "CACHE" not in k}
    done = subprocess.run(
        [sys.executable, "-m", "pxsgmcmc", "run", "small.toml", "--out", "run"],
        cwd=tmp_path,
        env=environment | {"PXSGMCMC_DATA": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "Warning" not in done.stderr, done.stderr
    assert list((tmp_path / "cache/compiled").glob("*-cache"))


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


@pytest.mark.parametrize("most, left", [(40, "abcd"), (39, "d"), (20, "d"), (1, "")])
def test_the_oldest_programs_make_room(tmp_path, most, left):
    for age, name in enumerate("dcba"):
        (tmp_path / name).write_bytes(bytes(10))
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    make_room(tmp_path, most)
    assert "".join(sorted(path.name for path in tmp_path.iterdir())) == left
