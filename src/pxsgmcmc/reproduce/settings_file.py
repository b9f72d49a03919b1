"""The settings of every method at a scale, and who found them."""

from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import msgspec

from pxsgmcmc.errors import UserError
from pxsgmcmc.reproduce.methods import GROUPS


class Chosen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of one method.

    Attributes:
      settings: by their full name.
      made_by: the command of the search, or whose choice they were.
      search: how far the search came: chains, points, validation NLL by seed, whether it settled.
    """

    settings: dict[str, Any]
    made_by: str
    search: dict[str, Any] | None = None


class SettingsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of `settings/SCALE.json`."""

    scale: str
    methods: dict[str, Chosen]
    format: Literal[1] = 1


def settings_path(scale: str) -> Path:
    """Where the settings of a scale are kept, inside the package."""
    return Path(str(files("pxsgmcmc.reproduce") / "settings" / f"{scale}.json"))


def read_settings(scale: str, path: Path | None = None) -> dict[str, Chosen]:
    """Method -> its settings at a scale.

    Args:
      scale: its name.
      path: of the file; the one in the package if not given.
    """
    path = settings_path(scale) if path is None else path
    if not path.exists():
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=SettingsFile).methods
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(
            f"`{path}` cannot be read as settings of this version ({error}): make it again by "
            f"`pxsgmcmc reproduce search --scale {scale}`."
        ) from None


def settings_of(method: str, scale: str, known: dict[str, Chosen]) -> Chosen:
    """The settings of one method, or a sentence on how to find them."""
    if method not in known:
        group = next(name for name, methods in GROUPS.items() if method in methods)
        raise UserError(
            f"{method} has no settings at the {scale} scale yet: find them by `pxsgmcmc reproduce "
            f"search --scale {scale} --methods {group}`."
        )
    return known[method]


def write_settings(scale: str, methods: dict[str, Chosen]) -> bytes:
    """The file's bytes, a method a line."""
    lines = [
        f'  "{name}": {msgspec.json.encode(chosen).decode()}' for name, chosen in methods.items()
    ]
    body = ",\n".join(lines)
    return f'{{\n "format": 1,\n "scale": "{scale}",\n "methods": {{\n{body}\n }}\n}}\n'.encode()
