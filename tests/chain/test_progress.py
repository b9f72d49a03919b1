"""What a person sees of a chain, and that it goes on when nobody looks."""

import contextlib
import io
import os
import sys

from tests.helpers.chain_problems import run


def test_a_chain_goes_on_when_nobody_listens(monkeypatch):
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as closed:
        monkeypatch.setattr(sys, "stderr", closed)
        assert run(progress="plain").status == "done"
        with contextlib.suppress(BrokenPipeError):
            closed.close()


def test_progress_is_plain_lines_when_not_a_terminal(capsys):
    run(progress=True)
    said = capsys.readouterr()
    last = said.err.strip().splitlines()[-1]
    assert last.startswith("sampling: 100%, draw 3/3, step 30/30") and "energy" in last


def test_progress_is_a_bar_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    run(progress=True)
    shown = sys.stderr.getvalue()
    for words in ("sampling", "3/3", "100%", "steps/s", "energy", "T[base]", "T[factors]"):
        assert words in shown
