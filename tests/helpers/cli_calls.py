"""Commands called in this process, with what they print caught."""

import contextlib
import io
from typing import NamedTuple

from pxsgmcmc.cli import main


class Said(NamedTuple):
    code: int
    out: str
    err: str


def call(*arguments: str) -> Said:
    """Run `pxsgmcmc arguments`."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(arguments))
    return Said(code, out.getvalue(), err.getvalue())


def assert_one_line(said: Said, code: int, *words: str) -> None:
    """The command failed in one line, with these words in it."""
    assert said.code == code, said
    assert said.err.startswith("pxsgmcmc: ") and said.err.count("\n") == 1, said
    assert said.err.endswith("\n") and "Traceback" not in said.err and said.out == "", said
    for word in words:
        assert word in said.err, (word, said)
