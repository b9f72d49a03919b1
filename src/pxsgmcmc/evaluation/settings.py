"""In what configurations differ, for methods that differ in nothing but their settings."""

import tomllib
from collections.abc import Mapping
from typing import Any

NONE = "(none)"
_INCIDENTAL = ("seed", "chains", "threads", "evaluate.", "data.root")  # the rest changes draws


def what_differs(configs: Mapping[str, str]) -> list[str]:
    """A sentence for each name: its settings where they are not the same for all.

    Args:
      configs: name -> configuration as TOML.

    Example:
      >>> what_differs({"A": "sampler = { x = 1, y = 2 }", "B": "sampler = { x = 1, y = 3 }"})
      ['A has sampler.y = 2.', 'B has sampler.y = 3.']
    """
    tables = {name: dict(_flat(tomllib.loads(text))) for name, text in configs.items()}
    keys = list(dict.fromkeys(key for table in tables.values() for key in table))
    differing = [
        key
        for key in keys
        if not key.startswith(_INCIDENTAL)
        and len({repr(table.get(key)) for table in tables.values()}) > 1
    ]
    if not differing:
        return []
    return [
        f"{name} has " + ", ".join(f"{key} = {table.get(key, NONE)}" for key in differing) + "."
        for name, table in tables.items()
    ]


def _flat(table: Mapping[str, Any], above: str = "") -> list[tuple[str, Any]]:
    """Settings by their full name, such as sampler.friction.base."""
    found = []
    for key, value in table.items():
        inner = isinstance(value, Mapping)
        found += _flat(value, f"{above}{key}.") if inner else [(f"{above}{key}", value)]
    return found
