"""The three ways a call can fail that are not our bug, and the one wording for bad arguments."""

import difflib
import math
import numbers
from collections.abc import Iterable
from typing import Any


class _OneLine(Exception):
    """An error whose message is one line that a terminal can show, whatever is quoted in it."""

    def __init__(self, message: object = ""):
        super().__init__(printable(message, 2000))


class UserError(_OneLine):
    """The input is wrong; the message is one sentence naming it, the rule and the value. Exit 2."""


class Locked(UserError):
    """Another process writes to the run directory, or has taken it over. Exit 5."""


class Diverged(_OneLine):
    """The chain left the region where the discretisation is stable. Exit 3; earlier draws stay."""


class Interrupted(_OneLine):
    """A signal asked the chain to stop, and everything was saved.

    Attributes:
      signal: its number.
    """

    def __init__(self, message: str, signal: int):
        super().__init__(message)
        self.signal = signal


class ChainWarning(UserWarning):
    """A chain is not healthy: its draws are not what they should be."""


class CorruptRun(_OneLine):
    """A run directory is not as it was written. Exit 4."""


def check_number(
    name: str,
    value: Any,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
) -> float:
    """Return `value` if it is a finite real number within the bounds, else raise `UserError`.

    Example:
      >>> check_number("temperature", 0.5, at_least=0.0)
      0.5
    """
    bounds = [
        (at_least, "at least", lambda bound: value >= bound),
        (above, "greater than", lambda bound: value > bound),
        (at_most, "at most", lambda bound: value <= bound),
        (below, "less than", lambda bound: value < bound),
    ]
    limits = [(word, bound, holds) for bound, word, holds in bounds if bound is not None]
    rule = " and ".join(f"{word} {bound:g}" for word, bound, _ in limits)
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not all(holds(b) for _, b, holds in limits):
        raise UserError(
            f"`{name}` must be a number{' ' + rule if rule else ''}, got {one_line(value)}."
        )
    return value if isinstance(value, int | float) else float(value)


def check_count(name: str, value: Any, *, at_least: int = 0) -> int:
    """Return `value` if it is a whole number of at least `at_least`, else raise `UserError`.

    Example:
      >>> check_count("draws", 3, at_least=1)
      3
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < at_least:
        raise UserError(
            f"`{name}` must be a whole number of at least {at_least}, got {one_line(value)}."
        )
    return int(value)


def printable(text: Any, most: int = 500) -> str:
    """Text that others wrote, fit for a terminal: one line of it, without control characters.

    A run directory, a data file or a name may come from anyone. An escape sequence in it could
    rewrite what stands on the screen, and a line break could pass for a line of ours.

    Args:
      text: whose `str` is shown.
      most: characters to show; the rest is left out.

    Example:
      >>> printable("evil" + chr(10) + "name" + chr(27) + "[2J")
      'evil name?[2J'
    """
    whole = " ".join(str(text)[: 4 * most].split())
    shown = "".join(c if c.isprintable() else "?" for c in whole)
    return shown if len(shown) <= most else shown[: most - 3] + "..."


def printable_lines(text: Any) -> str:
    r"""Text of several lines, each without control characters; what is shown passes through it.

    Example:
      >>> printable_lines("a name" + chr(27) + "[2J" + chr(10) + "  another")
      'a name?[2J\n  another'
    """
    lines = str(text).expandtabs(4).split("\n")
    return "\n".join("".join(c if c.isprintable() else "?" for c in line) for line in lines)


def printable_texts(value: Any) -> Any:
    """A value of JSON in which every text, names included, is `printable`.

    Example:
      >>> printable_texts({"a" + chr(27): ["b" + chr(7), 1]})
      {'a?': ['b?', 1]}
    """
    if isinstance(value, str):
        return printable(value, 10_000)
    if isinstance(value, dict):
        return {printable_texts(key): printable_texts(item) for key, item in value.items()}
    return [printable_texts(item) for item in value] if isinstance(value, list | tuple) else value


def one_line(value: Any) -> str:
    """What a value looks like, on one line and not too long of it.

    Example:
      >>> one_line("a" * 100)[-5:]
      'aa...'
    """
    return printable(repr(value), 80)


def nearest(word: Any, known: Iterable[str]) -> list[str]:
    """The one of `known` that is spelt most like `word`, if any is."""
    return difflib.get_close_matches(str(word), list(known), n=1)


def did_you_mean(word: Any, known: Iterable[str]) -> str:
    """The end of a message about a word that is none of `known`: the nearest one, or all of them.

    Example:
      >>> did_you_mean("digit", ["digits", "wine"]), did_you_mean("x", ["digits", "wine"])
      ('did you mean `digits`?', 'known: digits, wine.')
    """
    names = list(known)
    close = nearest(word, names)
    return f"did you mean `{close[0]}`?" if close else f"known: {', '.join(names)}."
