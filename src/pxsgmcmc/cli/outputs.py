"""Files and folders that a command is told to write: nothing that is there is destroyed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pxsgmcmc.errors import UserError
from pxsgmcmc.store import files
from pxsgmcmc.store.targets import check_outside


def check_target(out: str, *, force: bool, endings: tuple[str, ...], example: str) -> Path:
    """Where to write a file, or a sentence on why not there.

    Args:
      out: as it was typed after -o.
      force: whether an existing file may be replaced.
      endings: that the name may have.
      example: what to type.
    """
    target = Path(out)
    if target.suffix not in endings:
        raise UserError(
            f"`-o` must name a file ending in {' or '.join(endings)}, as in -o {example}, got "
            f"{out!r}."
        )
    if not target.parent.is_dir():
        raise UserError(f"`-o` must name a file in a folder that is there, got {out!r}.")
    check_outside(target, "-o", "file")
    if os.path.lexists(target) and not (force and target.is_file()):
        raise UserError(f"`{target}` is there already: name another file, or give --force.")
    return target


def check_folder_target(out: str, option: str, *, may_exist: bool = False) -> Path:
    """Where to write a folder, or a sentence on why not there.

    Args:
      out: as it was typed.
      option: what it was typed after.
      may_exist: whether a folder with something in it will do.
    """
    target = Path(out)
    check_outside(target, option)
    try:
        used = os.path.lexists(target) and (
            not target.is_dir() or (not may_exist and any(target.iterdir()))
        )
    except OSError as error:
        raise UserError(f"`{option}` cannot be {out!r}: {error.strerror}.") from error
    if used:
        kind = "a folder" if may_exist else "a new or empty folder"
        raise UserError(f"`{option}` must be {kind}, but `{target}` exists; name another.")
    return target


def write_output(target: Path, data: bytes, *, force: bool) -> None:
    """Write a file as a whole or not at all."""
    with writing_output(target, force=force) as file:
        file.write(data)


@contextmanager
def writing_output(target: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """A file that gets its name when it is whole, for what is too large to hold in memory.

    Args:
      target: its name.
      force: whether a file that has this name by then may be replaced.
    """
    with saying_what_failed(target), files.whole_file(target, replace=force) as file:
        yield file


@contextmanager
def saying_what_failed(target: Path) -> Iterator[None]:
    """Turn the system's errors into one sentence about `target`, with what to do."""
    try:
        yield
    except FileExistsError as error:
        message = f"`{target}` is there already: name another file, or give --force."
        raise UserError(message) from error
    except OSError as error:
        reason = error.strerror or str(error)
        # NumPy has no number for a write that came to nothing, only "... requested and 0 written".
        if error.errno in files.FULL or (error.errno is None and reason.endswith("written")):
            raise UserError(
                f"`{target}` could not be written, the storage is full ({reason}): make room, then "
                "give the same command again."
            ) from error
        raise UserError(f"`{target}` could not be written: {reason}.") from error
