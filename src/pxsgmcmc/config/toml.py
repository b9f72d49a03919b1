"""TOML text <-> configuration, with errors of one sentence that name the setting."""

import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from pxsgmcmc.config.error_messages import one_sentence, within_a_line
from pxsgmcmc.config.schema import Config, Evaluate
from pxsgmcmc.config.validate import check_settings_agree
from pxsgmcmc.errors import UserError

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
        raise UserError(within_a_line(f"{name!r} is not TOML: {error}.")) from None
    for key, value in _pairs(overrides or []):
        _put(tables, key, value)
    try:
        config = msgspec.convert(tables, Config, strict=True)
    except (msgspec.ValidationError, RecursionError):
        raise UserError(one_sentence(tables, Config)) from None
    if config.threads is None:
        one_process = config.chains == 1 or config.chain.executor == "vmap"
        config = msgspec.structs.replace(config, threads=2 if one_process else 1)
    return check_settings_agree(_with_folder(config, (folder or Path()).resolve()))


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
    section = tables.get("evaluate", {})
    try:
        return msgspec.convert(section, Evaluate, strict=True)
    except (msgspec.ValidationError, RecursionError):
        raise UserError(one_sentence(section, Evaluate, "evaluate")) from None


def started_from_python(text: str) -> bool:
    """Whether the settings kept in a run directory are those of a call of `sample`."""
    return "[chain]" not in text.splitlines()


def write_config(config: Config, *, defaults: bool = True) -> str:
    """The configuration as TOML.

    Args:
      config: the configuration.
      defaults: spell out every setting; else those alone that are not what they would be without
        being set.
    """
    tables = {key: value for key, value in msgspec.to_builtins(config).items() if value is not None}
    if not defaults:
        tables = _without_defaults(config, tables)
    lines = [f"{key} = {_value(v)}" for key, v in tables.items() if not isinstance(v, dict)]
    for section, table in tables.items():
        if isinstance(table, dict):
            lines += ["", f"[{section}]"]
            lines += [
                f"{_key(key)} = {_value(v)}" for key, v in table.items() if v not in (None, {})
            ]
    return "\n".join(lines) + "\n"


def _without_defaults(struct: msgspec.Struct, table: dict[str, Any]) -> dict[str, Any]:
    """A section without what has its default, and without sections that are left empty."""
    kept = dict(table)
    for setting in msgspec.structs.fields(struct):
        value = getattr(struct, setting.name)
        if setting.name in kept and isinstance(value, msgspec.Struct):
            kept[setting.name] = _without_defaults(value, kept[setting.name])
        if value == setting.default or kept.get(setting.name) == {}:
            kept.pop(setting.name, None)
    return kept


def as_toml(value: Any) -> str:
    """A value as TOML has it, and as a flag takes it.

    Example:
      >>> as_toml({"kind": "cyclical", "peak": 0.1}), as_toml((1, 2)), as_toml(True)
      ('{ kind = "cyclical", peak = 0.1 }', '[1, 2]', 'true')
    """
    return _value(value)


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
