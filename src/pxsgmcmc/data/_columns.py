"""Columns of a table: which ones are meant, and numbers or labels out of their cells."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pxsgmcmc.data._faults import damaged
from pxsgmcmc.errors import did_you_mean, one_line

# What programs write where a value is missing, in lower case.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "?", "<na>"})


class FileContent(NamedTuple):
    """What was read of a file.

    Attributes:
      values: (n, columns) float32 of a table, (n,) or (n, columns) of labels and targets, or an
        array as it is stored.
      names: of the columns, empty where the file does not tell them.
      notes: sentences on what had to be found out about the file.
    """

    values: np.ndarray
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def select_columns(
    where: str,
    names: Sequence[str],
    width: int,
    columns: Sequence[str | int] | None = None,
    without: Sequence[str | int] = (),
) -> list[int]:
    """The places of the columns that are meant.

    Args:
      where: the file, for messages.
      names: of all columns, or none.
      width: how many columns there are.
      columns: names or numbers of those to take, negative numbers from the end; None takes all.
      without: names or numbers of those to leave out.

    Example:
      >>> select_columns("houses.csv", ("area", "rooms", "price"), 3, without=["price"])
      [0, 1]
    """
    left_out = {_place(where, names, width, column) for column in without}
    if columns is not None:
        return [_place(where, names, width, column) for column in columns]
    return [place for place in range(width) if place not in left_out]


def _place(where: str, names: Sequence[str], width: int, column: str | int) -> int:
    if isinstance(column, int):
        if not -width <= column < width:
            fault = f"has {width} columns, so none has the number {column}"
            raise damaged(where, fault, f"give a number from 0 to {width - 1}")
        return column % width
    if not names:
        fault = f"has no names of columns, so none is called {column!r}"
        raise damaged(where, fault, "give the number of the column, from 0 on")
    if column not in names:
        raise damaged(where, f"has no column {column!r}", did_you_mean(column, names))
    if list(names).count(column) > 1:
        raise damaged(where, f"has several columns {column!r}", "give the column by its number")
    return list(names).index(column)


def cell_fault(where: str, row: int, line: int | None, column: str, cell: object) -> Exception:
    """The error for a cell that holds no number, to be raised."""
    text = str(cell).strip()
    place = f"row {row}" if line is None else f"row {row} (line {line})"
    place = f"{place}, column {column}"
    if text.lower() in MISSING:
        shown = f" ({one_line(text)})" if text else ""
        return damaged(where, f"has no value in {place}{shown}", "fill it in or drop the row")
    remedy = "correct it, or choose other columns by `columns = [...]`"
    if "," in text:
        remedy = "write numbers with a decimal point and without thousands separators"
    return damaged(where, f"holds {one_line(text)} in {place} where a number belongs", remedy)


def typed(cells: Sequence[str]) -> np.ndarray | int:
    """Cells as int64 or float64 if all are numbers, as text if none is; else where they change.

    Example:
      >>> typed(["1", "2"]).dtype.name, typed(["cat", "dog"]).dtype.kind, typed(["1.5", "2", "x"])
      ('int64', 'U', 2)
    """
    for kind in (int, float):
        try:
            return np.array([kind(cell) for cell in cells], np.int64 if kind is int else np.float64)
        except (ValueError, OverflowError):
            pass
    numeric = [is_number(cell) for cell in cells]
    if not any(numeric):
        return np.array([cell.strip() for cell in cells])
    # The rarer kind is the odd one out.
    odd = sum(numeric) * 2 < len(cells)
    return numeric.index(odd)


def is_number(cell: str) -> bool:
    """Whether a cell reads as a number; "nan" does not.

    Example:
      >>> is_number(" 1e-3"), is_number("age"), is_number("nan")
      (True, False, False)
    """
    try:
        return float(cell) == float(cell)
    except ValueError:
        return False
