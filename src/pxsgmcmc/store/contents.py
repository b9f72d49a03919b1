"""What a run directory holds, read and checked without changing anything."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from pxsgmcmc.errors import CorruptRun, one_line, printable_texts
from pxsgmcmc.store import files, journal, known_facts, layout, lock, manifest, sealed, tensors

_T = TypeVar("_T")


class Draw(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the index says of a committed draw.

    Attributes:
      number: counted from 1.
      name: of its file.
      bytes: of its file.
      sha256: of its file.
      step: transitions taken when it was kept.
      energy: there; None if it was not computed.
      facts: whatever else was given at the commit.
    """

    number: int
    name: str
    bytes: sealed.Count
    sha256: str
    step: int
    energy: float | None
    facts: dict[str, Any]

    def line(self) -> dict[str, Any]:
        """The index line, which has the number as the line's own."""
        body = msgspec.structs.asdict(self)
        del body["number"]
        return body


class Contents(NamedTuple):
    """The parts of a run directory that every reader needs."""

    manifest: manifest.Manifest
    config: str
    draws: list[Draw]
    marks: list[journal.Mark]  # in the index: before the first line, after each line


def read_contents(folder: Path) -> Contents:
    """Read manifest, config and index; raise at the first thing that is not as it was written."""
    facts = manifest.read(folder)
    config = manifest.read_config(folder, facts.config_sha256)
    return Contents(facts, config, *read_index(folder, facts.identity))


def read_index(folder: Path, identity: str) -> tuple[list[Draw], list[journal.Mark]]:
    """The committed draws, and the places of their lines in the index."""
    files.check_folder(folder / layout.DRAWS)
    # Listed before the index is read: a draw gets its line first and its name second.
    with files.reading(folder / layout.DRAWS):
        present = [layout.draw_number(name) for name in os.listdir(folder / layout.DRAWS)]
    draws, marks = [], [journal.start(identity)]
    for mark, body in journal.scan(folder / layout.INDEX, identity):
        try:
            draw = msgspec.convert({**body, "number": mark.lines}, Draw)
            known_facts.check_facts(draw.facts, known_facts.DrawFacts)
            draw = msgspec.structs.replace(draw, facts=printable_texts(draw.facts))
        except msgspec.ValidationError as error:
            message = f"`{folder / layout.INDEX}` line {mark.lines} is damaged: {error}."
            raise CorruptRun(message) from error
        if draw.name != layout.draw_name(mark.lines):
            raise CorruptRun(
                f"`{folder / layout.INDEX}` line {mark.lines} names the file {one_line(draw.name)}."
            )
        draws.append(draw)
        marks.append(mark)
    surplus = [number for number in present if number is not None and number > len(draws)]
    if surplus:
        name = layout.draw_name(min(surplus))
        raise CorruptRun(
            f"`{folder / layout.INDEX}` has lost lines: `{layout.DRAWS}/{name}` has none."
        )
    return draws, marks


def read_draw(folder: Path, draw: Draw) -> dict[str, np.ndarray]:
    """The arrays of a draw, checked against its hash."""
    path = folder / layout.DRAWS / draw.name
    data = files.read_hashed(path, draw.bytes, draw.sha256)
    try:
        return tensors.decode(data)
    except ValueError as error:
        raise CorruptRun(f"`{path}` is damaged: {error}.") from error


def read_log(folder: Path, identity: str) -> Iterator[tuple[journal.Mark, dict[str, Any]]]:
    """The lines of the log in order, each with its place."""
    for mark, body in journal.scan(folder / layout.LOG, identity):
        try:
            known_facts.check_facts(body, known_facts.LogLine)
        except msgspec.ValidationError as error:
            message = f"`{folder / layout.LOG}` line {mark.lines} is damaged: {error}."
            raise CorruptRun(message) from error
        yield mark, printable_texts(body)


def is_leftover(name: str, contents: Contents) -> bool:
    """Whether a relative name is one that an interrupted write leaves, to be removed or renamed."""
    if not name.endswith(files.PART):
        return False
    whole = name.removesuffix(files.PART)
    return (
        whole in (layout.MANIFEST, layout.CONFIG, lock.LOCK, f"{layout.STATE}/{layout.LAST}")
        or whole == f"{layout.DRAWS}/{layout.draw_name(len(contents.draws) + 1)}"
        or layout.is_artifact(whole)
    )


def attempts(folder: Path) -> Iterator[None]:
    """One attempt at reading; while a process writes to `folder`, up to five.

    A process at work changes files between two looks at them; what is really damaged stays so.
    """
    for _ in range(5):
        busy = being_written(folder)
        yield
        if not busy and not being_written(folder):
            return


def steady(folder: Path, look: Callable[[], _T]) -> _T:
    """The result of `look`, which is asked again as long as `attempts` allows if it raises."""
    damage = None
    for _ in attempts(folder):
        try:
            return look()
        except CorruptRun as error:
            damage = error
    assert damage is not None
    raise damage


def being_written(folder: Path) -> bool:
    """Whether a process that may be alive holds the lock."""
    try:
        return lock.writer(folder) is not None
    except CorruptRun:
        return False
