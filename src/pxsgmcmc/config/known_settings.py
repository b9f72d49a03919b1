"""Which settings a configuration may have, and what may stand at each."""

import re
from types import UnionType
from typing import Any, Literal, Union, get_origin

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


def tags_at(path: str) -> list[str]:
    """Names of the kinds that may be chosen at a path, such as those of samplers."""
    types = types_at(path.rpartition(".")[0])
    return list(dict.fromkeys(str(struct.__struct_config__.tag) for struct in types))


def fields_at(path: str, tables: dict[str, Any]) -> list[str]:
    """Names known at a path, of the kind the tables chose there."""
    types = types_at(path)
    table = value_at(tables, path)
    for struct in types:
        config = struct.__struct_config__
        if config.tag_field and isinstance(table, dict):
            if table.get(config.tag_field) == config.tag:
                return [config.tag_field, *struct.__struct_fields__]
    return [name for struct in types[:1] for name in struct.__struct_fields__]


def kinds_at(path: str, tables: dict[str, Any]) -> tuple[Any, ...]:
    """The types that may stand at a path, of the kind of section the tables chose above it."""
    parent, _, field = path.rpartition(".")
    table = value_at(tables, parent)
    for struct in types_at(parent):
        config = struct.__struct_config__
        if (
            config.tag_field
            and isinstance(table, dict)
            and table.get(config.tag_field) != config.tag
        ):
            continue
        for known in msgspec.structs.fields(struct):
            if known.name == field:
                union = isinstance(known.type, UnionType) or get_origin(known.type) is Union
                return known.type.__args__ if union else (known.type,)
    return ()


def choices_at(path: str, tables: dict[str, Any]) -> list[str]:
    """The words that may stand at a path."""
    kinds = kinds_at(path, tables)
    return [str(word) for kind in kinds if get_origin(kind) is Literal for word in kind.__args__]


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
