"""A file of sealed lines that only grows: the index of the draws, and the log."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.store import files, sealed

MAX_LINE = 1 << 20  # bytes


class Mark(NamedTuple):
    """A place in a journal: after so many lines, the last with this seal, ending at byte `end`."""

    lines: int
    seal: str
    end: int


def start(seed: str) -> Mark:
    """The place before the first line; `seed` binds the lines to one run."""
    return Mark(0, seed, 0)


def append(path: Path, at: Mark, body: dict[str, Any]) -> Mark:
    """Write one line at `at`, flushed to the disk, and say where it ends."""
    if "line" in body:
        raise UserError(f"A line of `{path}` has its own 'line', got one of {body['line']!r}.")
    line, seal = sealed.seal_line({"line": at.lines + 1, **body}, at.seal)
    if len(line) > MAX_LINE:
        raise UserError(f"A line of `{path}` may have {MAX_LINE} bytes, got {len(line)}.")
    files.append(path, line, at.end)
    return Mark(at.lines + 1, seal, at.end + len(line))


def scan(path: Path, seed: str) -> Iterator[tuple[Mark, dict[str, Any]]]:
    """The lines of a journal in order, each with the place where it ends.

    A last line that stops before its newline, or of which a sector was never written, is what a
    crash leaves: it was never committed, and the scan ends before it. Anything else that is not as
    it was written raises `CorruptRun`.
    """
    mark = start(seed)
    with os.fdopen(files.open_plain(path), "rb") as file, files.reading(path):
        while line := file.readline(MAX_LINE + 1):
            if not file.peek(1) and _is_torn(line, mark):
                return
            try:
                body, seal = sealed.unseal_line(line, mark.seal)
                if body.pop("line", None) != mark.lines + 1:
                    raise ValueError("its number is wrong")
            except ValueError as error:
                raise CorruptRun(f"`{path}` line {mark.lines + 1} is damaged: {error}.") from error
            mark = Mark(mark.lines + 1, seal, mark.end + len(line))
            yield mark, body


def _is_torn(line: bytes, above: Mark) -> bool:
    """Whether a last `line` is what an interrupted write leaves of the line that follows `above`.

    A power cut may leave any sectors of it unwritten, which then read as zeros, the first as well
    as the last. A line has no zeros of its own, and no single changed bit makes a sector of it
    zeros. A whole line whose newline was changed to another byte is damaged: no write stops after
    such a byte.
    """
    if len(line) > MAX_LINE:
        return False
    if line.endswith(b"\n"):
        size = files.SECTOR
        edges = range(-above.end % size, len(line) + size, size)
        sectors = (line[max(0, edge - size) : edge] for edge in edges)
        if all(sector.strip(b"\0") or not sector for sector in sectors):
            return False
    else:
        try:
            sealed.unseal_line(line[:-1] + b"\n", above.seal)
            return False
        except ValueError:
            pass
    opening = f'{{"line":{above.lines + 1},'.encode()
    return all(byte in (0, wanted) for byte, wanted in zip(line, opening, strict=False))
