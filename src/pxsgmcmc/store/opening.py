"""Make a new run directory, or open one that is there."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pxsgmcmc.errors import UserError, printable
from pxsgmcmc.store import contents, files, journal, layout, lock, manifest, sealed
from pxsgmcmc.store.manifest import version
from pxsgmcmc.store.repair import Resumption, repair
from pxsgmcmc.store.run import StoredRun

_FIRST_FILES = (layout.CONFIG, layout.INDEX, layout.LOG, layout.MANIFEST)
_FOLDERS = (layout.DRAWS, layout.STATE)


def create_run(
    path: str | Path, config: str, origin: dict[str, Any], *, say: Callable[[str], object] = str
) -> StoredRun:
    r"""Make a run directory and become its writer.

    Args:
      path: of a folder that is empty or not there.
      config: the text of the configuration as resolved: running it again gives the same draws.
      origin: what the manifest says of the start (seed, executor, versions, data hashes).
      say: is given a sentence if it takes a while to see whether another process writes there.

    Raises:
      UserError: if the folder is used or cannot be made.
      Locked: if another process writes there.

    Example:
      >>> import tempfile, numpy as np
      >>> with create_run(tempfile.mkdtemp(), "seed = 1\n", {"seed": 1}) as run:
      ...     draw = run.commit_draw({"w": np.zeros(3)}, step=100, energy=0.5)
      ...     run.commit_state({"position": np.zeros(3)}, {"step": 100})
      >>> run.draws[0].name, run.load_draw(1)["w"].shape
      ('000001.safetensors', (3,))
    """
    folder = Path(path)
    facts = manifest.Manifest(
        format=manifest.FORMAT,
        version=version(),
        config_sha256=sealed.digest(config.encode()),
        origin=sealed.from_json(sealed.to_json(origin)),
    )
    files.make_folders(folder)
    check_free(folder)
    lease = lock.acquire(folder, say)
    try:
        with lease.committing():
            check_free(folder)  # another process may have made its run while we waited
            _fill(folder, config, facts)
    except BaseException:
        lease.release()
        raise
    start = journal.start(facts.identity)
    committed = contents.Contents(facts, config, [], [start])
    return StoredRun(folder, committed, (lease, Resumption(0, 0, start, False, [])), [])


def open_run(
    path: str | Path, *, writable: bool = False, say: Callable[[str], object] = str
) -> StoredRun:
    """Open a run directory.

    Args:
      path: of the directory.
      writable: to go on with the run or to add results: takes the lock, then finishes or undoes
        what an interrupted writer left.
      say: is given a sentence if it takes a while to see whether another process writes there.

    Raises:
      UserError: if `path` is not a run directory.
      Locked: if another process writes there, with `writable`.
      CorruptRun: if its manifest, config or index is not as it was written; with `writable`, also
        its log or its states.
    """
    folder = Path(path)
    committed = contents.steady(folder, lambda: contents.read_contents(folder))
    notes, made_by = [], committed.manifest.version
    if made_by != version():
        notes.append(f"`{folder}` was made by version {printable(made_by)}, this is {version()}.")
    if not writable:
        return StoredRun(folder, committed, None, notes)
    lease = lock.acquire(folder, say)
    try:
        with lease.committing():
            committed = contents.read_contents(folder)
            resumed = repair(folder, committed)
    except BaseException:
        lease.release()
        raise
    return StoredRun(folder, committed, (lease, resumed), notes + resumed.notes)


def check_free(folder: Path) -> None:
    """Let pass an empty folder, or one where the making of a run was cut short.

    The lock is the first file and the manifest the last, so a folder with a lock and no manifest
    holds nothing that anyone has seen; without a lock its files are somebody else's.
    """
    with files.reading(folder):
        names = set(os.listdir(folder)) - {lock.LOCK, lock.LOCK + files.PART}
    if layout.MANIFEST in names:
        raise UserError(
            f"`{folder}` already holds a run: go on with it (`--resume`, in Python `resume=True`), "
            "or choose another directory."
        )
    unfinished = {*_FIRST_FILES, *(name + files.PART for name in _FIRST_FILES), *_FOLDERS}
    if not os.path.lexists(folder / lock.LOCK):
        unfinished = set()
    filled = {name for name in names & set(_FOLDERS) if os.listdir(folder / name)}
    strangers = (names - unfinished) | filled
    if strangers:
        raise UserError(
            f"`{folder}` must be empty to hold a run, it has {min(strangers)!r}: "
            "choose another directory."
        )


def _fill(folder: Path, config: str, facts: manifest.Manifest) -> None:
    """Write the first files, the manifest last; if that fails, leave none of them."""
    try:
        for name in _FOLDERS:
            with files.writing(folder / name):
                (folder / name).mkdir(exist_ok=True)
        files.write_file(folder / layout.CONFIG, config.encode())
        files.write_file(folder / layout.INDEX, b"")
        files.write_file(folder / layout.LOG, b"")
        manifest.write(folder, facts)
    except UserError:
        for name in reversed(_FIRST_FILES):
            (folder / name).unlink(missing_ok=True)
        for name in _FOLDERS:
            if (folder / name).is_dir():
                os.rmdir(folder / name)
        raise
