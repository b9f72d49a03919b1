"""The pages a newcomer reads: their code runs, their links lead somewhere, their commands exist."""

import re
from pathlib import Path

import pytest

from pxsgmcmc.cli import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]


def test_the_code_in_the_readme_runs_and_learns(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    error = float(re.search(r"test error ([0-9.]+)", capsys.readouterr().out)[1])
    assert error < 0.15  # guessing has 0.9


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_on_the_pages_exist(page):
    text = page.read_text("utf-8")
    for words in re.findall(r"^\s*pxsgmcmc ([a-z]+(?: [a-z]+)?)", text, re.MULTILINE):
        first = words.split()[0]
        assert words in COMMANDS or first in COMMANDS, f"{page.name}: pxsgmcmc {words}"
    targets = (ROOT / "Makefile").read_text("utf-8")
    for name in re.findall(r"`?make ([a-z][a-z-]+)`", text):
        assert re.search(rf"^{name}:", targets, re.MULTILINE), f"{page.name}: make {name}"


def test_contributing_is_one_page_and_names_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert len(text.splitlines()) <= 70
    for name in re.findall(r"`((?:src|tests|examples|docs)/[\w./]+\.(?:py|md))`", text):
        assert "NAME" in name or (ROOT / name).exists(), name
