"""Flags that are neither a command's own nor settings of a configuration."""

import inspect
from collections.abc import Callable
from typing import Any

from pxsgmcmc.config import Config
from pxsgmcmc.config.known_settings import sections_with, types_at
from pxsgmcmc.errors import UserError, nearest, one_line


def check_flags(name: str, command: Callable[..., Any], rest: list[str]) -> None:
    """Refuse a flag without a section that no setting is called, and suggest another.

    Args:
      name: of the command.
      command: the function that it calls, whose arguments are its own flags.
      rest: flags and values that are not its own.
    """
    tokens = iter(rest)
    for token in tokens:
        flag, equals, _ = token.removeprefix("--").partition("=")
        if not token.startswith("--") or not flag:
            return  # is said to be out of place when the settings are read
        setting = flag.replace("-", "_")
        if "." not in flag and setting not in Config.__struct_fields__:
            hint = _suggestion(setting, command) or f"see `pxsgmcmc {name} --help`."
            raise UserError(f"There is no flag {one_line('--' + flag)}; {hint}")
        if not equals:
            next(tokens, None)


def _suggestion(setting: str, command: Callable[..., Any]) -> str:
    own = [word.replace("_", "-") for word in inspect.signature(command).parameters]
    top = [word for word in Config.__struct_fields__ if not types_at(word)]
    near = sections_with(setting) or nearest(setting, [*own, *top])
    flags = " or ".join(f"`--{word}`" for word in near)
    return f"did you mean {flags}?" if near else ""
