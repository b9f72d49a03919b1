"""Which settings a configuration may have, and where."""

import re
from typing import Any

import msgspec

from pxsgmcmc.config.schema import Config


def value_at(tables: Any, path: str) -> Any:
    """What stands at a path of the tables; None if nothing does."""
    for part in re.findall(r"[^.\[\]]+", path):
        if isinstance(tables, dict):
            tables = tables.get(part)
        elif isinstance(tables, list) and part.isdigit():
            tables = tables[int(part)]
    return tables


def types_at(path: str) -> list[Any]:
    """The struct types that may stand at a path of the schema."""
    types: list[Any] = [Config]
    for part in re.findall(r"[^.\[\]]+", path):
        unfolded = []
        for struct in types:
            for field in msgspec.structs.fields(struct):
                if field.name == part:
                    inner = getattr(field.type, "__args__", (field.type,))
                    unfolded += [
                        t for t in inner if isinstance(t, type) and issubclass(t, msgspec.Struct)
                    ]
        types = unfolded
    return types


def sections_with(field: str) -> list[str]:
    """Where a setting is that was written without its section.

    Example:
      >>> sections_with("draws"), sections_with("drawz")
      (['chain.draws'], [])
    """
    settings = []
    for section in Config.__struct_fields__:
        for struct in types_at(section):
            if field in (struct.__struct_config__.tag_field, *struct.__struct_fields__):
                settings.append(f"{section}.{field}")
    return list(dict.fromkeys(settings))
