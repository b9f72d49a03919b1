"""Tables in CSV files: comma, semicolon or tab between cells, a header or none.

Cells are read in blocks, so that memory holds the numbers and not their text. A fault is named by
row (counted from 0, without the header), line (counted from 1, as an editor shows it) and column.
"""

import csv
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pxsgmcmc.data._columns import (
    MISSING,
    FileContent,
    cell_fault,
    is_number,
    select_columns,
    typed,
)
from pxsgmcmc.data._faults import damaged, parsing
from pxsgmcmc.errors import one_line

_BLOCK = 10_000  # rows converted together


class _Line(NamedTuple):
    number: int  # as an editor counts
    cells: list[str]


def read_csv(
    path: Path,
    *,
    columns: Sequence[str | int] | None = None,
    without: Sequence[str | int] = (),
    header: bool | None = None,
    text: bool = False,
    mixed: bool = False,
) -> FileContent:
    """Columns of a CSV file.

    Args:
      path: the file.
      columns: as in `select_columns`.
      without: as in `select_columns`.
      header: whether the first line holds names; None finds out and says so in the notes.
      text: read labels or targets: whole numbers, numbers or text, (n,) if it is one column.
        Otherwise every cell must be a number, and (n, columns) float32 is returned.
      mixed: with `text`, take cells for text though some of them are numbers.
    """
    guard = parsing(path, "CSV file", "write it again as UTF-8 text")
    with guard, path.open(encoding="utf-8-sig", newline="") as file:
        delimiter = _delimiter(file.readline())
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        lines = (_Line(reader.line_num, cells) for cells in reader if cells)
        first, second = next(lines, None), next(lines, None)
        if first is None:
            raise damaged(path, "is empty", "give a file with rows")
        names, notes, body = _header(path, header, first, second, lines, text)
        places = select_columns(str(path), names, len(first.cells), columns, without)
        shown = [repr(names[place]) if names else str(place) for place in places]
        rows = _checked(path, body, len(first.cells), places)
        if text:
            values = _labels(path, rows, shown, mixed)
        else:
            blocks = list(_numbers(path, rows, shown))
            values = np.concatenate(blocks) if blocks else np.zeros((0, len(places)), np.float32)
        if not len(values):
            raise damaged(path, "has a header and no rows", "give a file with rows")
        return FileContent(values, tuple(names[place] for place in places if names), notes)


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


def _header(
    path: Path,
    header: bool | None,
    first: _Line,
    second: _Line | None,
    lines: Iterator[_Line],
    text: bool,
) -> tuple[tuple[str, ...], tuple[str, ...], Iterator[_Line]]:
    """Names of the columns, notes, and the lines below the header."""
    below = chain([] if second is None else [second], lines)
    is_header = header
    if header is not True:
        is_header = _looks_like_header(first.cells, None if second is None else second.cells)
        if is_header is None and text and header is None:
            # Text all over: a header is text that no row below repeats.
            kept = list(below)
            seen = {cell.strip() for line in kept for cell in line.cells}
            is_header, below = not seen & {cell.strip() for cell in first.cells}, iter(kept)
    if header is False and is_header:
        fault = f"has a header in line {first.number} ({', '.join(first.cells[:4])})"
        raise damaged(path, fault, "leave out `header = false`")
    if not is_header:
        return (), (), chain([first], below)
    names = tuple(cell.strip() for cell in first.cells)
    if not names[0]:
        fault = (
            "has a first column without a name, as tables have that are written with their index"
        )
        raise damaged(path, fault, "write it without (`index=False`) or give the column a name")
    notes = (f"{path.name} has a header: {len(names)} columns",) if header is None else ()
    return names, notes, below


def _looks_like_header(first: list[str], second: list[str] | None) -> bool | None:
    """Whether the first line names the columns of the second; None if text is all there is."""
    words = [not is_number(cell) and cell.strip().lower() not in MISSING for cell in first]
    if second is not None and any(
        word and is_number(cell) for word, cell in zip(words, second, strict=False)
    ):
        return True
    return None if all(words) else False


def _checked(path: Path, lines: Iterator[_Line], width: int, places: list[int]) -> Iterator[_Line]:
    """The wanted cells of each line, all lines having as many cells as the first."""
    for row, (number, cells) in enumerate(lines):
        if len(cells) != width:
            fault = f"has {len(cells)} cells in row {row} (line {number}) where {width} belong"
            raise damaged(path, fault, "give every row as many cells")
        yield _Line(number, [cells[place] for place in places])


def _numbers(path: Path, rows: Iterator[_Line], shown: list[str]) -> Iterator[np.ndarray]:
    start = 0
    while block := list(islice(rows, _BLOCK)):
        flat = chain.from_iterable(line.cells for line in block)
        try:
            values = np.fromiter(map(float, flat), np.float64, len(block) * len(shown))
        except ValueError:
            values = np.full(len(block) * len(shown), np.nan)
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is found below
            values = values.astype(np.float32).reshape(len(block), len(shown))
        if not np.isfinite(values).all():
            _raise_at_first_fault(path, block, start, shown)
        yield values
        start += len(block)


def _raise_at_first_fault(path: Path, block: list[_Line], start: int, shown: list[str]) -> None:
    largest = float(np.finfo(np.float32).max)
    for row, (number, cells) in enumerate(block, start=start):
        for column, cell in zip(shown, cells, strict=True):
            if not is_number(cell) or not abs(float(cell)) <= largest:
                raise cell_fault(str(path), row, number, column, cell)


def _labels(path: Path, rows: Iterator[_Line], shown: list[str], mixed: bool) -> np.ndarray:
    lines = list(rows)
    columns = []
    for place, column in enumerate(shown):
        cells = [line.cells[place] for line in lines]
        for row, cell in enumerate(cells):
            if cell.strip().lower() in MISSING:
                raise cell_fault(str(path), row, lines[row].number, column, cell)
        values = typed(cells)
        if isinstance(values, int) and not mixed:
            place = f"row {values} (line {lines[values].number}), column {column}"
            fault = f"mixes numbers and text: {place} holds {one_line(cells[values])}"
            raise damaged(path, fault, 'correct it, or set `labels = "names"`')
        if isinstance(values, int):
            values = np.array([cell.strip() for cell in cells])
        columns.append(values)
    return columns[0] if len(columns) == 1 else np.column_stack(columns)
