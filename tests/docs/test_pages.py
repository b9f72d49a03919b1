"""The pages a newcomer reads: their code runs, their links lead somewhere, their commands exist."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.cli import COMMANDS
from tests.helpers.cli_calls import call
from tests.helpers.users_jax import as_users_have_it

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
PROGRAMS = [
    page
    for page in PAGES
    if BLOCK.search(page.read_text("utf-8")) and page.name != "bridges.md"  # test_bridges.py
]
SETTINGS = """
[data]
name = "two-moons"

[model]
name = "mlp"
widths = [8]

[sampler]
name = "sghmc"
step_size = { kind = "cyclical", peak = 1e-2 }
friction = 10.0

[chain]
draws = 10
cycle_length = 20
batch_size = 50
"""


@pytest.fixture(scope="module")
def finished_runs(tmp_path_factory):
    """A folder with the runs and inputs that pages speak of, each a small one."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "own.toml").write_text(SETTINGS, "utf-8")
    for seed in (0, 1):
        out = str(folder / "runs" / f"seed-{seed}")
        assert call("run", str(folder / "own.toml"), "--out", out, "--seed", str(seed)).code == 0
        assert call("evaluate", out).code == 0
    for name in ("mine", "px"):
        shutil.copytree(folder / "runs" / "seed-0", folder / "runs" / name)
    np.save(folder / "new.npy", px.data.load("two-moons").splits["test"].x[:20])
    return folder


@pytest.mark.slow  # what is on them has tests of its own in the default suite; `.ci/run` runs this
@pytest.mark.parametrize("page", PROGRAMS, ids=lambda page: page.name)
def test_the_python_on_a_page_runs_from_top_to_bottom(page, finished_runs, monkeypatch, capsys):
    monkeypatch.chdir(finished_runs)
    code = "\n".join(BLOCK.findall(page.read_text("utf-8")))
    with as_users_have_it():
        exec(compile(code, page.name, "exec"), {})
    if page.name == "README.md":
        printed = capsys.readouterr().out
        assert float(re.search(r"test error ([0-9.]+)", printed)[1]) < 0.15  # guessing has 0.9
        assert "not healthy" not in printed


def test_the_configuration_on_the_page_of_own_files_is_read(tmp_path):
    text = (ROOT / "docs" / "your_files.md").read_text("utf-8")
    (tmp_path / "own.toml").write_text(re.search(r"```toml\n(.*?)```", text, re.DOTALL)[1], "utf-8")
    rng = np.random.default_rng(0)
    for part, rows in (("", 200), ("_test", 50)):
        x = rng.normal(size=(rows, 3))
        np.save(tmp_path / f"X{part}.npy", x)
        np.save(tmp_path / f"y{part}.npy", (x[:, 0] > 0).astype(int))
    said = call("config", "check", str(tmp_path / "own.toml"))
    assert said.code == 0, said
    assert "180 rows" in said.out and "classification into 2 classes" in said.out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_on_the_pages_exist(page):
    text = page.read_text("utf-8")
    for words in re.findall(r"^\s*pxsgmcmc ([a-z-]+(?: [a-z-]+)?)", text, re.MULTILINE):
        first = words.split()[0]
        assert words in COMMANDS or first in COMMANDS, f"{page.name}: pxsgmcmc {words}"
    targets = (ROOT / "Makefile").read_text("utf-8")
    for name in re.findall(r"`?make ([a-z][a-z-]+)`", text):
        assert re.search(rf"^{name}:", targets, re.MULTILINE), f"{page.name}: make {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_public_names_on_the_pages_exist(page):
    for name in set(
        re.findall(r"\bpx\.([a-z_A-Z0-9]+(?:\.[a-z_A-Z0-9]+)?)", page.read_text("utf-8"))
    ):
        found = px
        for part in name.split("."):
            assert hasattr(found, part), f"{page.name}: px.{name}"
            found = getattr(found, part)


def test_contributing_is_one_page_and_names_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert len(text.splitlines()) <= 70
    for name in re.findall(r"`((?:src|tests|examples|docs)/[\w./]+\.(?:py|md))`", text):
        assert "NAME" in name or (ROOT / name).exists(), name
