"""Files and folders that a command is told to write: nothing that is there is destroyed."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pxsgmcmc.errors import UserError
from pxsgmcmc.store import files
from pxsgmcmc.store.chains import CHAINS
from pxsgmcmc.store.layout import DRAWS, INDEX, LOG, MANIFEST, STATE, chain_folders

_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}


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
    _refuse_link_or_run(target, "-o", "file")
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
    _refuse_link_or_run(target, option, "folder")
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


def _refuse_link_or_run(target: Path, option: str, kind: str) -> None:
    if target.is_symlink():
        raise UserError(
            f"`{option}` must not name a symbolic link, got {str(target)!r}: name the {kind} "
            "itself."
        )
    if run := _run_above(target):
        raise UserError(
            f"`{option}` must name a {kind} outside of run directories, got {str(target)!r} in "
            f"the run `{run}`."
        )


def _run_above(target: Path) -> Path | None:
    """The run directory that a file would lie in."""
    folder = Path(os.path.abspath(target)).parent.resolve()
    return next((place for place in (folder, *folder.parents) if _is_run(place)), None)


def _is_run(place: Path) -> bool:
    """Whether it is a run or a folder of chains, perhaps a damaged one.

    A manifest alone is no sign: other programs have files of that name.
    """
    signs = (MANIFEST, INDEX, LOG, DRAWS, STATE)
    if sum(os.path.lexists(place / name) for name in signs) >= 2:
        return True
    return os.path.lexists(place / CHAINS) or any(map(_is_run, chain_folders(place)))


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
        if error.errno in _FULL or (error.errno is None and reason.endswith("written")):
            raise UserError(
                f"`{target}` could not be written, the storage is full ({reason}): make room, then "
                "give the same command again."
            ) from error
        raise UserError(f"`{target}` could not be written: {reason}.") from error
