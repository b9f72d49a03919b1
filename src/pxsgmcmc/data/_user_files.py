"""The user's own files: npy, npz, CSV and Parquet. Pickles are never loaded.

An npy file is mapped, not read, so that memory holds only the rows that are used.
"""

import importlib
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pxsgmcmc.data._columns import FileContent, cell_fault, select_columns
from pxsgmcmc.data._csv_table import read_csv
from pxsgmcmc.data._faults import damaged, parsing
from pxsgmcmc.data._npy import MOST_HEADER, check_length, parse_entries, parse_header
from pxsgmcmc.errors import UserError, did_you_mean

SUFFIXES = (".npy", ".npz", ".csv", ".tsv", ".parquet")
MOST_UNPACKED = 4 << 30  # bytes of an array in an npz file, which cannot be mapped
_KINDS = "biufUS"
_REMEDY = "write it again by `numpy.save` or `numpy.savez`"


def read_table_or_array(
    path: str | Path,
    key: str | None = None,
    *,
    columns: Sequence[str | int] | None = None,
    without: Sequence[str | int] = (),
    header: bool | None = None,
    text: bool = False,
    mixed: bool = False,
) -> FileContent:
    r"""Read one file, or some of its columns.

    Args:
      path: ends in .npy, .npz, .csv, .tsv or .parquet.
      key: the name of the array in an npz file; without it, the only one there is.
      columns: names or numbers of the columns to take; None takes all.
      without: names or numbers of columns to leave out.
      header: for CSV, whether the first line holds names; None finds out.
      text: labels or targets are read: cells may be text, and one column gives (n,). Otherwise
        tables give (n, columns) float32, and arrays come as they are stored.
      mixed: with `text`, take the cells of a column for text though some of them are numbers.

    Example:
      >>> import tempfile
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     path = Path(folder) / "houses.csv"
      ...     _ = path.write_text("area,price\n50,1.5\n80,2.5\n")
      ...     read_table_or_array(path, without=["price"]).values.tolist()
      [[50.0], [80.0]]
    """
    path = Path(path).expanduser()
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise damaged(
            path, f"is none of the files that are read ({', '.join(SUFFIXES)})", "convert it"
        )
    if not path.is_file():
        raise damaged(path, "is not there or is no file", "correct its name")
    if kind in (".csv", ".tsv"):
        return read_csv(
            path, columns=columns, without=without, header=header, text=text, mixed=mixed
        )
    if kind == ".parquet":
        return _read_parquet(path, columns, without, text)
    array = map_npy(path) if kind == ".npy" else _read_npz(path, key)
    if columns is None and not without:
        return FileContent(array)
    if array.ndim != 2:
        fault = f"holds an array of shape {array.shape}, which has no columns"
        raise damaged(path, fault, "give labels in a file of their own")
    places = select_columns(str(path), (), array.shape[1], columns, without)
    values = array[:, places]
    return FileContent(values[:, 0] if text and len(places) == 1 else values)


def map_npy(path: Path) -> np.ndarray:
    """The array of numbers or text in an npy file, mapped."""
    where = str(path)
    with parsing(path, "npy file", _REMEDY):
        with path.open("rb") as file:
            header = parse_header(file.read(MOST_HEADER), where, kinds=_KINDS, remedy=_REMEDY)
        check_length(header, path.stat().st_size, where, _REMEDY)
        if 0 in header.shape:
            return np.empty(header.shape, header.dtype)
        order = "F" if header.fortran else "C"
        return np.memmap(path, header.dtype, "r", header.offset, header.shape, order)


def npz_keys(path: Path) -> tuple[str, ...]:
    """The names of the arrays in an npz file."""
    with parsing(path, "npz file", _REMEDY), zipfile.ZipFile(path) as archive:
        return tuple(name.removesuffix(".npy") for name in archive.namelist())


def _read_npz(path: Path, key: str | None) -> np.ndarray:
    keys = npz_keys(path)
    if key is None and len(keys) != 1:
        fault = f"holds {len(keys)} arrays ({', '.join(keys)})"
        raise damaged(path, fault, f'say which one, as in "{path.name}:{keys[0] if keys else "x"}"')
    name = keys[0] if key is None else key
    if name not in keys:
        raise damaged(path, f"has no array {name!r}", did_you_mean(name, keys))
    where = f"{path}:{name}"
    with parsing(where, "npz file", _REMEDY), zipfile.ZipFile(path) as archive:
        info = archive.getinfo(f"{name}.npy" if f"{name}.npy" in archive.namelist() else name)
        if info.file_size > MOST_UNPACKED:
            fault = f"unpacks to {info.file_size:,} bytes, above {MOST_UNPACKED:,}"
            raise damaged(where, fault, "save it as an npy file, which is mapped")
        with archive.open(info) as file:
            start = file.read(MOST_HEADER)
            header = parse_header(start, where, kinds=_KINDS, remedy=_REMEDY)
            check_length(header, info.file_size, where, _REMEDY)
            return parse_entries(start + file.read(), header)


def _read_parquet(
    path: Path, columns: Sequence[str | int] | None, without: Sequence[str | int], text: bool
) -> FileContent:
    names, column_of = _open_parquet(path)
    places = select_columns(str(path), names, len(names), columns, without)
    taken = [_clean(path, column_of(names[place]), repr(names[place]), text) for place in places]
    if not taken or not len(taken[0]):
        raise damaged(path, "has no rows or no columns", "give a file with rows")
    values = taken[0] if text and len(taken) == 1 else np.column_stack(taken)
    return FileContent(values, tuple(names[place] for place in places))


def _open_parquet(path: Path) -> tuple[list[str], Callable[[str], np.ndarray]]:
    """Names of the columns, and a function from name to values."""
    with parsing(path, "Parquet file", "write it again"):
        if (pyarrow := _installed("pyarrow.parquet")) is not None:
            table = pyarrow.read_table(path)
            return table.column_names, lambda name: table.column(name).to_numpy()
        if (polars := _installed("polars")) is not None:
            frame = polars.read_parquet(path)
            return frame.columns, lambda name: frame[name].to_numpy()
    raise UserError(
        f"`{path}` is a Parquet file, and neither pyarrow nor polars is installed: "
        "pip install pyarrow, or save it as CSV."
    )


def _installed(module: str) -> Any | None:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        return None


def _clean(path: Path, values: np.ndarray, column: str, text: bool) -> np.ndarray:
    """A column of numbers (float32 unless `text`) or of text, without gaps."""
    if values.dtype.kind in "OTU":
        missing = [row for row, cell in enumerate(values) if cell is None or cell != cell]
        wrong = missing or ([] if text else [0])
        if wrong:
            raise cell_fault(str(path), wrong[0], None, column, values[wrong[0]])
        return np.array([str(cell) for cell in values])
    if values.dtype.kind not in "biuf":
        fault = f"holds {values.dtype} in column {column} where numbers belong"
        raise damaged(path, fault, "convert it, or choose other columns by `columns = [...]`")
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise cell_fault(str(path), row, None, column, values[row])
    return values if text else values.astype(np.float32)
