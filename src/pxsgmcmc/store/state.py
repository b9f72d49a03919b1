"""The saved state of a chain: `state/last`, and `state/prev` to fall back on.

A state file is one sealed line, which says where in the index and the log the state belongs and has
the SHA-256 of the rest, followed by a safetensors file.

Saving writes `last.part`, renames `last` to `prev`, and renames `last.part` to `last`. So where
`last` is missing after a crash, a whole `last.part` is there.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from pxsgmcmc.errors import CorruptRun
from pxsgmcmc.store import files, layout, sealed, tensors
from pxsgmcmc.store.contents import Contents
from pxsgmcmc.store.journal import MAX_LINE, Mark


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of a state file.

    Attributes:
      serial: 1 for the first state of a run, and one more for each that is saved after another.
      draws: the number of draws the chain had made.
      draws_seal: of the index line of the last of these.
      log: the number of log lines the chain had written.
      log_seal: of the last of these.
      meta: what the chain wants to keep besides arrays.
      bytes: of the arrays.
      sha256: of the arrays.
    """

    serial: sealed.Count
    draws: sealed.Count
    draws_seal: str
    log: sealed.Count
    log_seal: str
    meta: dict[str, Any]
    bytes: sealed.Count
    sha256: str


class StoredState(NamedTuple):
    """A state file that is as it was written."""

    header: Header
    payload: bytes


class SavedStates(NamedTuple):
    """What the state folder holds.

    Attributes:
      best: the state to go on from; None if there is none.
      problems: a sentence for each file that is not as it was written.
      last_is_good: whether `last` may become `prev` at the next save.
      waiting: whether `last` still has to be renamed from `last.part`.
      all: every good state.
    """

    best: StoredState | None
    problems: list[str]
    last_is_good: bool
    waiting: bool
    all: list[StoredState]


def save(
    folder: Path,
    identity: str,
    arrays: Mapping[str, Any],
    meta: dict[str, Any],
    *,
    serial: int,
    draws: Mark,
    log: Mark,
    keep_last: bool,
) -> Header:
    """Make the arrays the last state, and the last state the one before it if `keep_last`."""
    payload = tensors.encode(arrays)
    header = Header(
        serial,
        draws.lines,
        draws.seal,
        log.lines,
        log.seal,
        meta,
        len(payload),
        sealed.digest(payload),
    )
    line, _ = sealed.seal_line(msgspec.structs.asdict(header), identity)
    last, prev = folder / layout.LAST, folder / layout.PREV
    files.write_beside(last, line + payload)
    if keep_last and os.path.lexists(last):
        with files.writing(prev):
            os.replace(last, prev)
            # Otherwise a power cut could keep the second rename and lose the first.
            files.sync_folder(folder)
    files.put_in_place(last)
    return header


def find(run_folder: Path, committed: Contents) -> SavedStates:
    """Read both states, check them against the index, and choose."""
    folder, identity, draws = (
        run_folder / layout.STATE,
        committed.manifest.identity,
        committed.marks,
    )
    files.check_folder(folder)
    problems: list[str] = []

    def look(path: Path) -> StoredState | None:
        try:
            return _read(path, identity, draws)
        except files.Missing:
            return None
        except CorruptRun as error:
            problems.append(str(error))
            return None

    last, prev = look(folder / layout.LAST), look(folder / layout.PREV)
    last_is_good = last is not None
    waiting = False
    if last is None and not os.path.lexists(folder / layout.LAST):
        last = _read_part(files.beside(folder / layout.LAST), identity, draws)
        waiting = last is not None
        if not waiting and (committed.manifest.resumable or os.path.lexists(folder / layout.PREV)):
            problems.append(f"`{folder / layout.LAST}` is missing.")
    if last and last.header.serial > 1 and not os.path.lexists(folder / layout.PREV):
        problems.append(f"`{folder / layout.PREV}` is missing.")
    if last and prev and prev.header.serial != last.header.serial - 1:
        problems.append(f"`{folder}` has `last` and `prev` that do not follow one another.")
    good = [state for state in (last, prev) if state is not None]
    return SavedStates(good[0] if good else None, problems, last_is_good, waiting, good)


def _read_part(path: Path, identity: str, draws: Sequence[Mark]) -> StoredState | None:
    """A state that was written whole and not renamed; an unfinished one is nothing to report."""
    try:
        return _read(path, identity, draws)
    except CorruptRun:
        return None


def _read(path: Path, identity: str, draws: Sequence[Mark]) -> StoredState:
    with os.fdopen(files.open_plain(path), "rb") as file, files.reading(path):
        try:
            body, _ = sealed.unseal_line(file.readline(MAX_LINE), identity)
            header = msgspec.convert(body, Header)
        except (ValueError, msgspec.ValidationError) as error:
            raise CorruptRun(f"`{path}` is damaged: {error}.") from error
        if os.fstat(file.fileno()).st_size != file.tell() + header.bytes:
            raise CorruptRun(f"`{path}` does not have the number of bytes it was written with.")
        payload = file.read()
    if sealed.digest(payload) != header.sha256:
        raise CorruptRun(f"`{path}` is not as it was written: its SHA-256 differs.")
    if header.draws >= len(draws) or draws[header.draws].seal != header.draws_seal:
        raise CorruptRun(f"`{path}` speaks of draw {header.draws}, which is not in the index.")
    return StoredState(header, payload)


def arrays_of(run_folder: Path, stored: StoredState) -> dict[str, np.ndarray]:
    """The arrays of a state."""
    try:
        return tensors.decode(stored.payload)
    except ValueError as error:
        raise CorruptRun(f"`{run_folder / layout.STATE}` has a damaged state: {error}.") from error
