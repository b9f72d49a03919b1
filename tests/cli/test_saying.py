"""Everything that a command prints goes through one function, which lets no text act."""

import ast
import shutil
from pathlib import Path

import pytest

import pxsgmcmc.cli
from pxsgmcmc.cli.saying import say
from tests.helpers.cli_calls import call
from tests.helpers.small_runs import three_draws

FOLDER = Path(pxsgmcmc.cli.__file__).parent
# A job speaks JSON to the process that started it, which escapes by itself.
OTHERS = {"saying.py", "job.py"}
ESCAPE = "\x1b[2J\x1b]0;gone\x07"


def test_no_command_prints_by_itself():
    found = [
        f"{path.name}:{node.lineno}"
        for path in sorted(FOLDER.glob("*.py"))
        if path.name not in OTHERS
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Name) and node.id == "print"
    ]
    assert found == []


def test_what_is_said_cannot_act_on_a_terminal(capsys):
    say(f"one\n  two{ESCAPE}")
    assert capsys.readouterr().out == "one\n  two?[2J?]0;gone?\n"


@pytest.fixture(scope="module")
def named_to_act(tmp_path_factory):
    """A run in a folder whose name would clear the screen."""
    run = three_draws(tmp_path_factory.mktemp("runs") / "run")
    place = run.with_name(f"run{ESCAPE}")
    shutil.move(run, place)
    return place


LOOKING = [["show"], ["verify"], ["watch", "--once"], ["jobs"], ["list"], ["resume"]]
COMPUTING = [["evaluate"], ["compare"], ["diagnose"], ["report"]]  # the second needs the first


@pytest.mark.parametrize(
    "words",
    [*LOOKING, *(pytest.param(words, marks=pytest.mark.slow) for words in COMPUTING)],
    ids=" ".join,
)
def test_the_name_of_a_folder_does_not_act(named_to_act, words):
    said = call(words[0], str(named_to_act), *words[1:])
    assert said.code == 0, said
    assert all(line.isprintable() for line in (said.out + said.err).split("\n"))
