"""Finish or undo what an interrupted writer left, under the lock and before anything is written."""

import os
from pathlib import Path
from typing import NamedTuple

from pxsgmcmc.errors import CorruptRun
from pxsgmcmc.store import contents, files, journal, layout, manifest, state


class Resumption(NamedTuple):
    """Where a writer goes on.

    Attributes:
      serial: of the state it goes on from, 0 if none was saved.
      draws: how many draws had been made there.
      log: the place in the log there.
      last_is_good: whether `state/last` may become `state/prev`.
      notes: sentences for the user.
    """

    serial: int
    draws: int
    log: journal.Mark
    last_is_good: bool
    notes: list[str]


def repair(folder: Path, committed: contents.Contents) -> Resumption:
    """Make `folder` as if its last writer had stopped right after saving the state."""
    identity = committed.manifest.identity
    states = state.find(folder, committed)
    if states.best is None and states.problems:
        raise CorruptRun(states.problems[0])
    log = _place_in_log(folder / layout.LOG, identity, states.best)
    if states.waiting:
        files.put_in_place(folder / layout.STATE / layout.LAST)
    _finish_renames(folder, committed)
    _cut_if_longer(folder / layout.INDEX, committed.marks[-1].end)
    _cut_if_longer(folder / layout.LOG, log.end)
    _remove_leftovers(folder, committed)
    header = states.best.header if states.best else None
    return Resumption(
        header.serial if header else 0,
        header.draws if header else 0,
        log,
        states.last_is_good or states.waiting,
        [
            f"{problem} Going on from state {header.serial}."
            for problem in states.problems
            if header
        ],
    )


def _place_in_log(path: Path, identity: str, stored: state.StoredState | None) -> journal.Mark:
    """Where the log was when the state was saved; what came later will be written again."""
    place = journal.start(identity)
    for mark, _ in journal.scan(path, identity):
        if stored and mark.lines <= stored.header.log:
            place = mark
    check_log(path, place, stored)
    return place


def check_log(path: Path, place: journal.Mark, stored: state.StoredState | None) -> None:
    """Refuse a log that has lost lines which were there when the state was saved."""
    if stored and (place.lines, place.seal) != (stored.header.log, stored.header.log_seal):
        raise CorruptRun(f"`{path}` has lost lines: the state was saved after {stored.header.log}.")


def _finish_renames(folder: Path, committed: contents.Contents) -> None:
    for draw in committed.draws:
        path = folder / layout.DRAWS / draw.name
        if not os.path.lexists(path):
            files.read_hashed(path, draw.bytes, draw.sha256)
            files.put_in_place(path)
    for name, entry in committed.manifest.artifacts.items():
        path = folder / name
        if os.path.lexists(files.beside(path)) and _is_whole(files.beside(path), entry):
            files.put_in_place(path)


def _is_whole(path: Path, entry: manifest.Artifact) -> bool:
    try:
        files.read_hashed(path, entry.bytes, entry.sha256)
    except CorruptRun:
        return False
    return True


def _cut_if_longer(path: Path, end: int) -> None:
    if os.lstat(path).st_size > end:
        files.cut(path, end)


def _remove_leftovers(folder: Path, committed: contents.Contents) -> None:
    for name, _ in list(layout.walk(folder)):
        if contents.is_leftover(name, committed):
            with files.writing(folder / name):
                os.unlink(folder / name)
