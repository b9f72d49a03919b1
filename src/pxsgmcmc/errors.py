"""The three ways a call can fail that are not our bug, and the one wording for bad arguments."""

import math
import numbers
from typing import Any


class UserError(Exception):
    """The input is wrong; the message is one sentence naming it, the rule and the value. Exit 2."""


class Diverged(Exception):
    """The chain left the region where the discretisation is stable. Exit 3; earlier draws stay."""


class CorruptRun(Exception):
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
    asked = [(word, bound, holds) for bound, word, holds in bounds if bound is not None]
    rule = " and ".join(f"{word} {bound:g}" for word, bound, _ in asked)
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not all(holds(b) for _, b, holds in asked):
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


def one_line(value: Any) -> str:
    """What a value looks like, on one line and not too long of it.

    Example:
      >>> one_line("a" * 100)[-5:]
      'aa...'
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."
