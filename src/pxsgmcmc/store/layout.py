"""Which files a run directory has, and which names it may not have."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from pxsgmcmc.errors import UserError
from pxsgmcmc.store.files import PART

CONFIG = "config.toml"
MANIFEST = "manifest.json"
INDEX = "index.jsonl"
LOG = "log.jsonl"
DRAWS = "draws"
STATE = "state"
LAST = "last"
PREV = "prev"
EVAL = "eval"

_DRAW_NAME = re.compile(r"[0-9]{6,}\.safetensors")
_ARTIFACT = re.compile(r"(results\.json|report\.html|eval(/[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}){1,4})")


def draw_name(number: int) -> str:
    """The file of a draw, which are counted from 1.

    Example:
      >>> draw_name(1)
      '000001.safetensors'
    """
    return f"{number:06d}.safetensors"


def chain_folder(folder: Path, chain: int) -> Path:
    """The run directory of one of several chains in `folder`.

    Example:
      >>> chain_folder(Path("runs"), 3).name
      'chain-0003'
    """
    return folder / f"chain-{chain:04}"


def chain_folders(folder: Path) -> list[Path]:
    """The run directories of several chains in `folder`; none if it is a single run."""
    return sorted(path for path in folder.glob("chain-[0-9][0-9][0-9][0-9]") if path.is_dir())


def draw_number(name: str) -> int | None:
    """The number of the draw that a file name says; None if it says none."""
    return int(name.partition(".")[0]) if _DRAW_NAME.fullmatch(name) else None


def is_artifact(name: str) -> bool:
    """Whether `name` is one of the results that may be kept beside the draws."""
    return bool(_ARTIFACT.fullmatch(name)) and not name.endswith(PART)


def check_artifact(name: str) -> str:
    """Return `name` if it may be written, else raise `UserError`.

    Example:
      >>> check_artifact("eval/test.json")
      'eval/test.json'
    """
    if not is_artifact(name):
        raise UserError(
            "A result must be named 'results.json', 'report.html' or 'eval/NAME' "
            f"with letters, digits, '_', '-' and '.', got {name!r}."
        )
    return name


def is_folder(name: str) -> bool:
    """Whether a run directory may have a folder of this relative name."""
    return name in (DRAWS, STATE, EVAL) or (name.startswith(f"{EVAL}/") and name.count("/") < 4)


def walk(folder: Path, below: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """What is in `folder` and in our folders within it, by relative name; no link is followed."""
    with os.scandir(folder / below) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            name = f"{below}/{entry.name}" if below else entry.name
            try:
                facts = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # a writer at work just renamed it
                continue
            yield name, facts
            if stat.S_ISDIR(facts.st_mode) and is_folder(name):
                yield from walk(folder, name)
