"""What is wrong with a configuration, in a sentence that names the setting."""

import re
from typing import Any, Literal, get_args, get_origin

import msgspec

from pxsgmcmc.config.known_settings import (
    choices_at,
    fields_at,
    kinds_at,
    sections_with,
    tags_at,
    value_at,
)
from pxsgmcmc.errors import did_you_mean, one_line

_WORDS = {
    "`int`": "a whole number",
    "`float`": "a number",
    "`str`": "text",
    "`bool`": "true or false",
    "`object`": "a table",
    "`array`": "a list",
    "`null`": "nothing",
}
_BOUNDS = {" >= ": " of at least ", " <= ": " of at most ", " > ": " above ", " < ": " below "}
_OF_FILES = ("data.train", "data.validation", "data.test")
_FILES = '{ x = "X.npy", y = "y.npy" }'


def one_sentence(message: str, tables: dict[str, Any]) -> str:
    """The message of msgspec as ours: the setting, the rule, the value, perhaps a suggestion."""
    problem, _, where = message.partition(" - at `$")
    path = where.rstrip("`").lstrip(".")
    if unknown := re.match(r"Object contains unknown field `(.*)`", problem, re.DOTALL):
        return _unknown(unknown[1], path, tables)
    if missing := re.match(r"Object missing required field `(.*)`", problem):
        return f"`{_join(path, missing[1])}` is missing."
    if tag := re.match(r"Invalid value '?(.*?)'?$", problem, re.DOTALL):
        known = tags_at(path)
        choices = f"; known: {', '.join(known)}" if known else ""
        return within_a_line(f"`{path}` cannot be {tag[1]!r}{choices}.")
    if enum := re.match(r"Invalid enum value (.*)$", problem, re.DOTALL):
        return within_a_line(f"`{path}` must be {_alternatives(path, tables)}, got {enum[1]}.")
    if not problem.startswith("Expected "):
        return within_a_line(f"`{path}` is no number that fits, got {_shown(tables, path)}.")
    for word, plain in _WORDS.items():
        problem = problem.replace(word, plain)
    wanted = problem.removeprefix("Expected ").partition(", got")[0].replace("`", "")
    for word, plain in _WORDS.items():  # in a union the words stand without their marks
        wanted = re.sub(rf"\b{word.strip('`')}\b", plain, wanted)
    for sign, words in {" | ": " or ", " or nothing": "", ".0": "", **_BOUNDS}.items():
        wanted = wanted.replace(sign, words)
    if choices := choices_at(path, tables):
        wanted = re.sub(r"\btext\b", " or ".join(f'"{choice}"' for choice in choices), wanted)
    example = f", such as {_FILES}" * (path in _OF_FILES and "table" in wanted)
    wanted = f"{wanted}{example}, got {_shown(tables, path)}"
    return within_a_line(f"`{path or 'config'}` must be {wanted}.")


def _alternatives(path: str, tables: dict[str, Any]) -> str:
    """What may stand at a path where some words may: "a positive number or "auto"", say."""
    choices, others = choices_at(path, tables), []
    for kind in kinds_at(path, tables):
        base, *meta = get_args(kind) if hasattr(kind, "__metadata__") else (kind,)
        if base in (int, float):
            bound = meta[0] if meta else msgspec.Meta()
            positive = bound.gt == 0.0 or bound.ge == 1
            word = "whole number" if base is int else "number"
            others.append(f"a {'positive ' * positive}{word}")
        elif isinstance(base, type) and issubclass(base, msgspec.Struct):
            others.append("a table")
        elif base is not type(None) and get_origin(base) is not Literal:
            others.append(_WORDS.get(f"`{getattr(base, '__name__', '')}`", "another value"))
    if not others:
        return f"one of {', '.join(choices)}"
    return " or ".join([*dict.fromkeys(others), *(f'"{choice}"' for choice in choices)])


def _shown(tables: Any, path: str) -> str:
    try:
        return one_line(value_at(tables, path))
    except ValueError:  # Python does not write out integers of thousands of digits
        return "a huge number"
    except RecursionError:
        return "something nested deeply"


def within_a_line(text: str) -> str:
    """The text in one line of at most 300 characters."""
    text = " ".join(text.split())
    return text if len(text) <= 300 else text[:297] + "..."


def _unknown(field: str, path: str, tables: dict[str, Any]) -> str:
    hint = did_you_mean(field, fields_at(path, tables))
    if not path and (inside := sections_with(field)):
        hint = f"did you mean {' or '.join(f'`{name}`' for name in inside)}?"
    place = f"[{path}]" if path else "The configuration"
    return within_a_line(f"{place} has no setting {field!r}: `{_join(path, field)}`; {hint}")


def _join(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field
