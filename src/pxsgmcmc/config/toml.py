"""TOML text <-> configuration, with errors of one sentence that name the setting."""

import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any, Literal, get_origin

import msgspec

from pxsgmcmc.config.schema import Config, Evaluate
from pxsgmcmc.config.together import check_together
from pxsgmcmc.errors import UserError, did_you_mean, one_line

_WORDS = {
    "`int`": "a whole number",
    "`float`": "a number",
    "`str`": "text",
    "`bool`": "true or false",
    "`object`": "a table",
    "`array`": "a list",
    "`null`": "nothing",
}
_MOST_CHARACTERS = 1 << 18
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{32}}")


def read_config(path: str | Path, overrides: list[str] | None = None) -> Config:
    """The configuration in a file, with `--section.key value` pairs over it."""
    path = Path(path)
    try:
        text = _read_text(path)
    except FileNotFoundError:
        raise UserError(f"There is no configuration file {str(path)!r}.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserError(f"{str(path)!r} cannot be read: {reason}.") from None
    return parse_config(text, overrides, name=str(path), folder=path.parent)


def _read_text(path: Path) -> str:
    """The text of a regular file; no pipe is waited for, and nothing endless is read."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UserError(f"{str(path)!r} must be a regular file to be read as a configuration.")
        return file.read(_MOST_CHARACTERS + 1).decode("utf-8")


def parse_config(
    text: str,
    overrides: list[str] | None = None,
    name: str = "config",
    folder: Path | None = None,
) -> Config:
    """The configuration in `text`.

    Args:
      text: TOML.
      overrides: `--section.key value` pairs over it.
      name: says in errors where it came from.
      folder: where files and modules that it names are looked for, unless it says itself.
    """
    try:
        tables = _loads(text)
    except RecursionError:
        raise UserError(f"{name!r} is not TOML: it is nested too deeply.") from None
    except ValueError as error:  # also of integers with thousands of digits
        raise UserError(_line(f"{name!r} is not TOML: {error}.")) from None
    for key, value in _pairs(overrides or []):
        _put(tables, key, value)
    try:
        config = msgspec.convert(tables, Config, strict=True)
    except msgspec.ValidationError as error:
        raise UserError(_sentence(str(error), tables)) from None
    if config.threads is None:
        config = msgspec.structs.replace(config, threads=2 if config.chains == 1 else 1)
    return check_together(_with_folder(config, (folder or Path()).resolve()))


def _loads(text: str) -> dict[str, Any]:
    """The tables in a text; ValueError for what is no TOML, or would take long to read.

    The time that `tomllib` takes grows with the square of the number of parts of a dotted key.
    """
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"it has more than {_MOST_CHARACTERS:,} characters")
    if _LONG_KEY.search(text):
        raise ValueError("it has a dotted key of more than 32 parts")
    return tomllib.loads(text)


def _with_folder(config: Config, folder: Path) -> Config:
    """Where files are, written out: a run directory is read from anywhere."""
    replace = msgspec.structs.replace
    if config.problem is not None and config.problem_folder is None:
        config = replace(config, problem_folder=str(folder))
    data = config.data
    if data is not None and data.train is not None and data.folder is None:
        config = replace(config, data=replace(data, folder=str(folder)))
    return config


def parse_evaluate(overrides: list[str]) -> Evaluate:
    """The [evaluate] section that flags alone make, for a run without a configuration."""
    tables: dict[str, Any] = {}
    for key, value in _pairs(overrides):
        _put(tables, key, value)
    try:
        return msgspec.convert(tables.get("evaluate", {}), Evaluate, strict=True)
    except msgspec.ValidationError as error:
        message = str(error).replace("`$", "`$.evaluate")
        raise UserError(_sentence(message, tables)) from None


def started_from_python(text: str) -> bool:
    """Whether the settings kept in a run directory are those of a call of `sample`."""
    return "[chain]" not in text.splitlines()


def write_config(config: Config) -> str:
    """The configuration as TOML in which every setting is spelt out; none that are not set."""
    tables = {key: value for key, value in msgspec.to_builtins(config).items() if value is not None}
    lines = [f"{key} = {_value(v)}" for key, v in tables.items() if not isinstance(v, dict)]
    for section, table in tables.items():
        if isinstance(table, dict):
            lines += ["", f"[{section}]"]
            lines += [
                f"{_key(key)} = {_value(v)}" for key, v in table.items() if v not in (None, {})
            ]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    """A key as TOML wants it: bare, or quoted."""
    bare = name.replace("-", "").replace("_", "")
    return name if bare.isascii() and bare.isalnum() else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A JSON string is a TOML basic string, but for one character.
        return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        inner = ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items() if v is not None)
        return f"{{ {inner} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


def _pairs(tokens: list[str]) -> list[tuple[str, Any]]:
    """`--a.b 1 --c=x` as [("a.b", 1), ("c", "x")]."""
    pairs, rest = [], list(tokens)
    while rest:
        flag = rest.pop(0)
        if not flag.startswith("--") or len(flag) < 3:
            raise UserError(f"`{flag}` is out of place; settings are written --section.key value.")
        key, equals, value = flag[2:].partition("=")
        if not equals:
            if not rest:
                raise UserError(f"`{flag}` needs a value.")
            value = rest.pop(0)
        pairs.append((key.replace("-", "_"), _literal(value)))
    return pairs


def _literal(text: str) -> Any:
    """A flag's value as TOML would read it, or else as text."""
    try:
        tables = _loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return tables["value"] if len(tables) == 1 else text


def _put(tables: dict[str, Any], key: str, value: Any) -> None:
    *sections, last = key.split(".")
    place = tables
    for section in sections:
        place = place.setdefault(section, {})
        if not isinstance(place, dict):
            raise UserError(f"`{key}` cannot be set: `{section}` is not a table.")
    place[last] = value


def _sentence(message: str, tables: dict[str, Any]) -> str:
    """The message of msgspec as ours: the setting, the rule, the value, perhaps a suggestion."""
    problem, _, where = message.partition(" - at `$")
    path = where.rstrip("`").lstrip(".")
    if unknown := re.match(r"Object contains unknown field `(.*)`", problem, re.DOTALL):
        return _unknown(unknown[1], path, tables)
    if missing := re.match(r"Object missing required field `(.*)`", problem):
        return f"`{_join(path, missing[1])}` is missing."
    if tag := re.match(r"Invalid value '?(.*?)'?$", problem, re.DOTALL):
        known = _tags(path)
        choices = f"; known: {', '.join(known)}" if known else ""
        return _line(f"`{path}` cannot be {tag[1]!r}{choices}.")
    if enum := re.match(r"Invalid enum value (.*)$", problem, re.DOTALL):
        known = _choices(path, tables)
        return _line(f"`{path}` must be one of {', '.join(known)}, got {enum[1]}.")
    if not problem.startswith("Expected "):
        return _line(f"`{path}` is no number that fits, got {_shown(tables, path)}.")
    for word, plain in _WORDS.items():
        problem = problem.replace(word, plain)
    wanted = problem.removeprefix("Expected ").partition(", got")[0].replace("`", "")
    for word, plain in _WORDS.items():  # in a union the words stand without their marks
        wanted = re.sub(rf"\b{word.strip('`')}\b", plain, wanted)
    wanted = wanted.replace(" | ", " or ").replace(".0", "")
    if choices := _choices(path, tables):
        wanted = re.sub(r"\btext\b", " or ".join(f'"{choice}"' for choice in choices), wanted)
    return _line(f"`{path or 'config'}` must be {wanted}, got {_shown(tables, path)}.")


def _shown(tables: Any, path: str) -> str:
    try:
        return one_line(_lookup(tables, path))
    except ValueError:  # Python does not write out integers of thousands of digits
        return "a huge number"
    except RecursionError:
        return "something nested deeply"


def _line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 300 else text[:297] + "..."


def _unknown(field: str, path: str, tables: dict[str, Any]) -> str:
    hint = did_you_mean(field, _fields(path, tables))
    place = f"[{path}]" if path else "The configuration"
    return _line(f"{place} has no setting {field!r}: `{_join(path, field)}`; {hint}")


def _join(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field


def _lookup(tables: Any, path: str) -> Any:
    for part in re.findall(r"[^.\[\]]+", path):
        if isinstance(tables, dict):
            tables = tables.get(part)
        elif isinstance(tables, list) and part.isdigit():
            tables = tables[int(part)]
    return tables


def _types_at(path: str) -> list[Any]:
    """The struct types that may stand at a path of the schema."""
    types: list[Any] = [Config]
    for part in re.findall(r"[^.\[\]]+", path):
        found = []
        for struct in types:
            for field in msgspec.structs.fields(struct):
                if field.name == part:
                    inner = getattr(field.type, "__args__", (field.type,))
                    found += [
                        t for t in inner if isinstance(t, type) and issubclass(t, msgspec.Struct)
                    ]
        types = found
    return types


def _tags(path: str) -> list[str]:
    types = _types_at(path.rpartition(".")[0])
    return list(dict.fromkeys(str(struct.__struct_config__.tag) for struct in types))


def _fields(path: str, tables: dict[str, Any]) -> list[str]:
    """Names known at a path, of the kind the tables chose there."""
    types = _types_at(path)
    table = _lookup(tables, path)
    for struct in types:
        config = struct.__struct_config__
        if config.tag_field and isinstance(table, dict):
            if table.get(config.tag_field) == config.tag:
                return [config.tag_field, *struct.__struct_fields__]
    return [name for struct in types[:1] for name in struct.__struct_fields__]


def _choices(path: str, tables: dict[str, Any]) -> list[str]:
    parent, _, field = path.rpartition(".")
    table = _lookup(tables, parent)
    for struct in _types_at(parent):
        config = struct.__struct_config__
        if (
            config.tag_field
            and isinstance(table, dict)
            and table.get(config.tag_field) != config.tag
        ):
            continue
        for known in msgspec.structs.fields(struct):
            if known.name == field:
                kinds = (known.type, *getattr(known.type, "__args__", ()))
                return [str(c) for k in kinds if get_origin(k) is Literal for c in k.__args__]
    return []
