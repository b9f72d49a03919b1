"""What is wrong with a configuration, in a sentence that names the setting.

The tables are walked along the schema until something does not fit: nothing is read out of the
messages of the library that converts them.
"""

from collections.abc import Iterable, Iterator
from operator import le, lt
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from pxsgmcmc.config.known_settings import sections_with
from pxsgmcmc.errors import did_you_mean, one_line

_WORDS = {str: "text", bool: "true or false", dict: "a table", list: "a list", tuple: "a list"}
_OF_FILES = ("data.train", "data.validation", "data.test")
_FILES = '{ x = "X.npy", y = "y.npy" }'


def one_sentence(value: Any, kind: Any, path: str = "") -> str:
    """The first thing that does not fit: the setting, the rule, the value, perhaps a suggestion.

    Args:
      value: tables that could not be converted.
      kind: the type that they should have.
      path: where they stand in the configuration.
    """
    sentence = _fault(value, kind, path)
    return within_a_line(sentence or f"`{path or 'config'}` cannot be read.")


def within_a_line(text: str) -> str:
    """The text in one line of at most 300 characters."""
    text = " ".join(text.split())
    return text if len(text) <= 300 else text[:297] + "..."


def _fault(value: Any, kind: Any, path: str) -> str | None:
    """What is wrong with a value that should be of a kind; None if nothing is."""
    kinds = get_args(kind) if isinstance(kind, UnionType) or get_origin(kind) is Union else (kind,)
    structs = [one for one in kinds if isinstance(one, type) and issubclass(one, msgspec.Struct)]
    if structs and isinstance(value, dict):
        return _fault_in_section(value, structs, path)
    if _fits(value, kind):
        return None
    for at, entry, inner in _entries(value, kinds):
        if sentence := _fault(entry, inner, path + at):
            return sentence
    wanted = _wanted(kinds, value)
    example = f", such as {_FILES}" * (path in _OF_FILES and not isinstance(value, float))
    return f"`{path or 'config'}` must be {wanted}{example}, got {_shown(value)}."


def _fault_in_section(table: dict[str, Any], structs: list[Any], path: str) -> str | None:
    tag = structs[0].__struct_config__.tag_field
    if tag and (tag in table or len(structs) > 1):
        known = {struct.__struct_config__.tag: struct for struct in structs}
        if tag not in table:
            return f"`{_join(path, tag)}` is missing; known: {', '.join(known)}."
        if not isinstance(table[tag], str) or table[tag] not in known:
            choices = ", ".join(known)
            return f"`{_join(path, tag)}` cannot be {_shown(table[tag])}; known: {choices}."
        structs = [known[table[tag]]]
    fields = {field.name: field for field in msgspec.structs.fields(structs[0])}
    for name in table:
        if name not in fields and name != tag:
            return _unknown(name, path, [*([tag] if tag else []), *fields])
    for name, field in fields.items():
        if name not in table:
            if field.required:
                return f"`{_join(path, name)}` is missing."
        elif sentence := _fault(table[name], field.type, _join(path, name)):
            return sentence
    return None


def _entries(value: Any, kinds: Iterable[Any]) -> Iterator[tuple[str, Any, Any]]:
    """What a list or a table holds, with its place and the kind that it should be of."""
    for kind in kinds:
        if isinstance(value, dict) and get_origin(kind) is dict:
            yield from ((f".{key}", entry, get_args(kind)[1]) for key, entry in value.items())
        elif isinstance(value, list) and get_origin(kind) in (list, tuple):
            yield from ((f"[{i}]", entry, get_args(kind)[0]) for i, entry in enumerate(value))


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind, strict=True)
    except (msgspec.ValidationError, RecursionError):
        return False
    return True


def _base(kind: Any) -> Any:
    """A kind without its bounds and without what it holds."""
    bare = get_args(kind)[0] if hasattr(kind, "__metadata__") else kind
    return get_origin(bare) or bare


def _wanted(kinds: Iterable[Any], value: Any) -> str:
    """What may stand there: "a positive number or "auto"", say."""
    words, choices = [], []
    for kind in kinds:
        base = _base(kind)
        if base is Literal:
            choices += map(str, get_args(kind))
        elif base in (int, float):
            words.append(_number(base, getattr(kind, "__metadata__", ()), value))
        elif base is not type(None):
            words.append(_WORDS.get(base, "a table"))
    if not words:
        return f"one of {', '.join(choices)}"
    return " or ".join([*dict.fromkeys(words), *(f'"{choice}"' for choice in choices)])


def _number(base: type, metadata: tuple[Any, ...], value: Any) -> str:
    """A number, with the bound that the value does not keep."""
    bound = metadata[0] if metadata else msgspec.Meta()
    word = ("positive " * (bound.gt == 0.0)) + ("whole number" if base is int else "number")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and bound.ge is not None and not value >= bound.ge:
        word += f" of at least {bound.ge:g}"
    for most, said, kept in ((bound.le, "of at most", le), (bound.lt, "below", lt)):
        if is_number and most is not None and not kept(value, most):
            word += f" {said} {most:,g}" if most < 1e6 else f" {said} {most:,.0f}"
    return f"a {word}"


def _shown(value: Any) -> str:
    try:
        return one_line(value)
    except ValueError:  # Python does not write out integers of thousands of digits
        return "a huge number"
    except RecursionError:
        return "something nested deeply"


def _unknown(field: str, path: str, known: Iterable[str]) -> str:
    hint = did_you_mean(field, known)
    if not path and (inside := sections_with(field)):
        hint = f"did you mean {' or '.join(f'`{name}`' for name in inside)}?"
    place = f"[{path}]" if path else "The configuration"
    return f"{place} has no setting {field!r}: `{_join(path, field)}`; {hint}"


def _join(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field
