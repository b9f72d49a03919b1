"""Places that something is told to write to: runs, links and others' files there stay untouched."""

import os
from collections.abc import Collection
from pathlib import Path

from pxsgmcmc.errors import UserError
from pxsgmcmc.store import files
from pxsgmcmc.store.chains import CHAINS
from pxsgmcmc.store.layout import DRAWS, INDEX, LOG, MANIFEST, STATE, chain_folders
from pxsgmcmc.store.lock_file import LOCK


def check_outside(target: Path, option: str, kind: str = "folder") -> None:
    """Refuse a symbolic link, and what would lie in a run directory.

    Args:
      target: what is to be written.
      option: that named it.
      kind: "folder" or "file".
    """
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


def check_own_folder(
    folder: Path, option: str, what: str, *, sign: str, early: Collection[str] = ()
) -> None:
    """Let pass a folder that is not there, is empty, or holds an earlier `what`.

    Args:
      folder: to write to.
      option: that named it.
      what: the kind of thing that is written there, as in "a search".
      sign: the file that says that it is there.
      early: files and folders that are made before that one, empty until it is there.
    """
    check_outside(folder, option)
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise UserError(f"`{option}` must be a folder, but `{folder}` is none; name another.")
    with files.reading(folder):
        names = set(os.listdir(folder))
    if sign in names:
        if not (folder / sign).is_file() or (folder / sign).is_symlink():
            raise UserError(f"`{folder / sign}` must be a regular file, and it is not one.")
        return
    passed = {LOCK, LOCK + files.PART, sign + files.PART}
    passed |= {name for name in early if name in names and _is_empty(folder / name)}
    if strangers := names - passed:
        raise UserError(
            f"`{option}` must be a new or empty folder, or one with {what}, but `{folder}` has "
            f"{min(strangers)!r}: name another."
        )


def _is_empty(path: Path) -> bool:
    if path.is_symlink():
        return False
    return not os.listdir(path) if path.is_dir() else path.is_file() and not path.stat().st_size


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
