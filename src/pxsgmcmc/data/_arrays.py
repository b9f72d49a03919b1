"""From what a user has (lists, frames, JAX arrays) to NumPy arrays of real numbers."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pxsgmcmc.errors import UserError, one_line

_BLOCK = 1 << 22  # entries looked at together, so that a mapped file is never whole in memory
_SHOWN = 5  # rows named in a message


def as_numbers(value: Any, name: str) -> np.ndarray:
    """`value` as an array of at least one row of finite real numbers, in one of few types.

    Floats become float32, whole numbers int32, truth values int32; uint8 stays, since images are
    stored so. Arrays of these types are returned as they are, also when they are mapped files.

    Args:
      value: an array, nested lists, or anything with `to_numpy()`, such as a pandas or polars
        frame or series.
      name: of the argument, for messages.

    Example:
      >>> as_numbers([[1.5, 2.0]], "x").dtype.name, as_numbers([True, False], "y").tolist()
      ('float32', [1, 0])
    """
    array = as_array(value, name)
    kind = array.dtype.kind
    if array.ndim == 0:
        raise UserError(
            f"`{name}` must be an array with one row for each datum, got {one_line(value)}."
        )
    if not array.size:
        raise UserError(f"`{name}` must hold at least one row and column, got {array.shape}.")
    if kind in "OUST":
        raise UserError(_not_numbers(array, name))
    if kind == "c":
        raise UserError(
            f"`{name}` must hold real numbers, got {array.dtype}; give real and imaginary parts as "
            "separate columns."
        )
    if kind not in "biuf" and array.dtype.name != "bfloat16":
        raise UserError(f"`{name}` must hold numbers, got {array.dtype}; convert it to numbers.")
    if array.dtype in (np.uint8, np.int32):
        return array
    if kind in "biu":
        return _as_int32(array, name)
    check_finite(array, name)
    if array.dtype.itemsize > 4:
        _check_range(array, name)
    return array.astype(np.float32, copy=False)


def as_array(value: Any, name: str) -> np.ndarray:
    """`value` as an array of any type; nested lists must have rows of equal length.

    Example:
      >>> as_array((1, 2), "y").shape
      (2,)
    """
    if value is None:
        raise UserError(f"`{name}` must be an array, got None.")
    if hasattr(value, "toarray"):
        raise UserError(f"`{name}` must be a dense array, got a sparse one; use `.toarray()`.")
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if np.ma.is_masked(value):
        rows = np.flatnonzero(np.ma.getmaskarray(value).reshape(len(value), -1).any(axis=1))
        raise UserError(
            f"`{name}` must have every value, got masked ones in {rows_text(rows.tolist())}; drop "
            "these rows or fill in their values."
        )
    try:
        return value if isinstance(value, np.memmap) else np.asarray(value)
    except ValueError as error:
        raise UserError(_ragged(value, name)) from error


def check_finite(array: np.ndarray, name: str) -> None:
    """Raise `UserError` naming the first rows that hold NaN or infinity."""
    bad: list[int] = []
    for start, block in blocks(array):
        finite = np.isfinite(block).reshape(len(block), -1).all(axis=1)
        bad += (start + np.flatnonzero(~finite)).tolist()
    if bad:
        raise UserError(
            f"`{name}` must be finite, got NaN or infinity in {rows_text(bad)}; drop these rows or "
            "fill in their values."
        )


def rows_text(rows: list[int]) -> str:
    """Row numbers, the first few of many, for a message.

    Example:
      >>> rows_text([4]), rows_text(list(range(9)))
      ('row 4', 'rows 0, 1, 2, 3, 4 and 4 more')
    """
    shown = ", ".join(map(str, rows[:_SHOWN]))
    more = f" and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else ""
    return f"{'row' if len(rows) == 1 else 'rows'} {shown}{more}"


def blocks(array: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Number of the first row, and rows, a few megabytes at a time."""
    rows = max(1, _BLOCK // max(1, array[:1].size))
    for start in range(0, len(array), rows):
        yield start, array[start : start + rows]


def _as_int32(array: np.ndarray, name: str) -> np.ndarray:
    limits = np.iinfo(np.int32)
    lowest, highest = int(array.min(initial=0)), int(array.max(initial=0))
    if lowest < limits.min or highest > limits.max:
        raise UserError(
            f"`{name}` must hold whole numbers within 32 bits, got {lowest} to {highest}; give it "
            "as floating-point numbers."
        )
    return array.astype(np.int32)


def _check_range(array: np.ndarray, name: str) -> None:
    """Doubles that single precision cannot hold would become infinite."""
    limit = float(np.finfo(np.float32).max)
    for start, block in blocks(array):
        large = np.abs(block) > limit
        if large.any():
            row = start + int(np.argmax(large.reshape(len(block), -1).any(axis=1)))
            raise UserError(
                f"`{name}` must be within single precision, got {np.abs(block).max():.4g} in row "
                f"{row}; give it in other units."
            )


def _not_numbers(array: np.ndarray, name: str) -> str:
    entry = array.reshape(-1)[0]
    if all(isinstance(item, str | bytes) for item in array.reshape(-1)[:100]):
        return (
            f"`{name}` must hold numbers, got text such as {one_line(str(entry))}; for labels use "
            f"`codes, names = px.data.encode_labels({name.split()[-1]})`."
        )
    return (
        f"`{name}` must hold numbers, got Python objects such as {one_line(entry)}; convert it "
        "by `.astype('float32')`, or drop the rows that lack a value."
    )


def _ragged(value: Any, name: str) -> str:
    lengths = [len(row) if hasattr(row, "__len__") else None for row in value]
    row = next((i for i, length in enumerate(lengths) if length != lengths[0]), 0)
    if row:
        return (
            f"`{name}` must have rows of equal length, got {lengths[0]} entries in row 0 and "
            f"{lengths[row]} in row {row}."
        )
    return f"`{name}` must have rows of equal shape, got nested lists of different lengths."
