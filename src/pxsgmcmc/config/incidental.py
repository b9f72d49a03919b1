"""Settings that change neither the law of a draw nor how many there are: the one list of them."""

from typing import Any

INCIDENTAL = (
    "seed",
    "chains",
    "threads",
    "problem_folder",
    "data.root",
    "data.folder",
    "evaluate",
    "tune",
    "measured",
    "chain.executor",
    "chain.chunk_seconds",
    "chain.checkpoint_seconds",
    "chain.keep_data",
    "chain.devices",
    "chain.processes",
    "chain.matmul_precision",
)

# Settings that came later, at what all runs before them had: runs keep their digests.
_LATER = (("expansion.inner", 1.0),)


def is_incidental(setting: str) -> bool:
    """Whether a setting by its full name is one of these, or in one of these sections.

    Example:
      >>> is_incidental("evaluate.subset"), is_incidental("sampler.friction")
      (True, False)
    """
    return any(setting == name or setting.startswith(f"{name}.") for name in INCIDENTAL)


def deciding(table: dict[str, Any], above: str = "") -> dict[str, Any]:
    """Settings by their full name, such as sampler.friction.base, without the incidental ones."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{above}{key}"
        if is_incidental(name) or (name, value) in _LATER:
            continue
        if isinstance(value, dict):
            flat |= deciding(value, f"{name}.")
        else:
            flat[name] = value
    return flat
