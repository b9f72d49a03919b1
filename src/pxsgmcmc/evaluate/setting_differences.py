"""In what configurations differ, for methods that differ in nothing but their settings."""

from collections.abc import Callable, Mapping
from typing import Any

NONE = "(none)"


def setting_differences(
    settings: Mapping[str, dict[str, Any]], spell: Callable[[Any], str] = str
) -> list[str]:
    """A sentence for each name: its settings where they are not the same for all.

    Args:
      settings: name -> settings by their full name.
      spell: how a value is written.

    Example:
      >>> setting_differences({"A": {"x": 1, "y": 2}, "B": {"x": 1, "y": 3}})
      ['A has y = 2.', 'B has y = 3.']
    """
    keys = list(dict.fromkeys(key for table in settings.values() for key in table))
    differing = [
        key for key in keys if len({repr(table.get(key)) for table in settings.values()}) > 1
    ]
    if not differing:
        return []
    return [
        f"{name} has "
        + ", ".join(f"{key} = {spell(table[key]) if key in table else NONE}" for key in differing)
        + "."
        for name, table in settings.items()
    ]
