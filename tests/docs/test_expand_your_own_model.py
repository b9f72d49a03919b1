"""The page on own models: its snippets run as printed, its programs print what it shows.

python -m tests.docs.test_expand_your_own_model    # write what they print now into the page
"""

import contextlib
import doctest
import io
import re
import runpy
from pathlib import Path

import pytest

from tests.helpers.users_jax import as_users_have_it

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "expand_your_own_model.md"
PROGRAM = re.compile(
    r"```{literalinclude} \.\./examples/(\w+\.py)\n```\n\nIt prints:\n\n```text\n(.*?)```",
    re.DOTALL,
)
PROGRAMS = dict(PROGRAM.findall(PAGE.read_text("utf-8")))
OTHER_PROGRAMS = ("expand_linen.py", "expand_equinox.py", "expand_nnx.py")
SNIPPET = re.compile(r"```pycon\n(.*?)```", re.DOTALL)
FRACTION = re.compile(r"\d+\.\d+")


def run(program):
    printed = io.StringIO()
    with as_users_have_it(), contextlib.redirect_stdout(printed):
        runpy.run_path(str(ROOT / "examples" / program), run_name="__main__")
    return printed.getvalue()


def test_all_four_programs_are_on_the_page():
    kinds = ("nnx", "linen", "equinox", "plain")
    assert set(PROGRAMS) == {f"expand_{kind}.py" for kind in kinds}
    assert {path.name for path in ROOT.glob("examples/expand_*.py")} == set(PROGRAMS)


@pytest.mark.parametrize(
    "program",
    [
        # The stories have chains of networks of Flax and Equinox; `.ci/run` runs all programs.
        pytest.param(name, marks=[pytest.mark.slow] * (name in OTHER_PROGRAMS))
        for name in PROGRAMS
    ],
)
def test_a_program_prints_what_the_page_shows(program):
    printed, shown = run(program), PROGRAMS[program]
    assert FRACTION.sub("#", printed) == FRACTION.sub("#", shown)
    # Errors on 500 images of a chain that another machine rounds otherwise.
    for here, there in zip(FRACTION.findall(printed), FRACTION.findall(shown), strict=True):
        assert float(here) == pytest.approx(float(there), abs=0.06)
        assert float(here) < 0.15  # guessing has 0.9


def snippets():
    """The snippets of the page as one session."""
    text = "\n".join(SNIPPET.findall(PAGE.read_text("utf-8")))
    return doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)


def test_the_snippets_run_as_printed():
    session = snippets()
    assert len(session.examples) > 15
    report = io.StringIO()
    with as_users_have_it():
        result = doctest.DocTestRunner().run(session, out=report.write)
    assert result.failed == 0, report.getvalue()


def refresh():
    """Write what the snippets and programs print now into the page."""
    page, scope = PAGE.read_text("utf-8"), {}
    for old in SNIPPET.findall(page):
        new = ""
        for example in doctest.DocTestParser().get_examples(old):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(example.source, PAGE.name, "single"), scope)
            first, *rest = example.source.splitlines()
            source = "\n".join([f">>> {first}", *(f"... {line}" for line in rest)])
            new += f"{source}\n{printed.getvalue()}"
        page = page.replace(old, new)
    for program, old in PROGRAM.findall(page):
        page = page.replace(f"```text\n{old}```", f"```text\n{run(program)}```")
    PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    refresh()
