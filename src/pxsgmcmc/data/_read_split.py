"""One split of the user's data: which files and columns it is, read and brought into shape."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pxsgmcmc.data._arrays import as_numbers
from pxsgmcmc.data._columns import FileContent
from pxsgmcmc.data._faults import damaged
from pxsgmcmc.data._user_files import SUFFIXES, npz_keys, read_table_or_array
from pxsgmcmc.errors import UserError, did_you_mean, one_line

_TABLES = (".csv", ".tsv", ".parquet")


class RawSplit(NamedTuple):
    """What the files of a split hold, labels not yet encoded.

    Attributes:
      x: (n, height, width, channels) uint8 images, or (n, ...) float32.
      y: (n,) or (n, targets) of whole numbers, numbers or text; None where there are none.
      feature_names: of the columns of x, where its file tells them.
      target_names: likewise of y.
      x_file: the file of x, for messages.
      y_file: likewise of y.
      notes: sentences on what was found out or changed.
    """

    x: np.ndarray
    y: np.ndarray | None
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    x_file: str
    y_file: str
    notes: tuple[str, ...]


class _Place(NamedTuple):
    """An array: a file, a key if it is an npz, columns if it is a part of a table."""

    path: Path
    key: str | None = None
    columns: tuple[str | int, ...] | None = None


def read_split(
    name: str,
    files: Any,
    base: Path,
    *,
    header: bool | None = None,
    mixed: bool = False,
    columns: tuple[str, ...] = (),
) -> RawSplit:
    """Read the files of one split.

    Args:
      name: of the split, such as "train" or "shifts.winter".
      files: {"x": ..., "y": ...} as `load_files` describes; `y` and `columns` may be left out.
      base: the folder that paths start from.
      header: as in `read_table_or_array`.
      mixed: as in `read_table_or_array`.
      columns: names of the training split's columns, by which those of a table are looked for.
    """
    x_place, y_place = _places(f"data.{name}", files, base)
    named = bool(columns) and _kind(x_place.path) in _TABLES
    content = read_table_or_array(
        x_place.path,
        x_place.key,
        columns=columns if named else x_place.columns,
        without=() if named or y_place is None else y_place.columns or (),
        header=header,
    )
    x, notes = _inputs(content, x_place.path)
    if y_place is None:
        return RawSplit(x, None, content.names, (), str(x_place.path), "", notes)
    labels = read_table_or_array(
        y_place.path, y_place.key, columns=y_place.columns, header=header, text=True, mixed=mixed
    )
    y, y_file = labels.values, str(y_place.path)
    if len(y) != len(x):
        fault = f"has {len(y):,} rows where `{x_place.path.name}` has {len(x):,}"
        table = _kind(y_place.path) in _TABLES
        remedy = "give one label or target for each input" + (
            ", and say by `header` whether the first line holds names" if table else ""
        )
        raise damaged(y_file, fault, remedy)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    return RawSplit(
        x, y, content.names, labels.names, str(x_place.path), y_file, (*notes, *labels.notes)
    )


def _places(setting: str, files: Any, base: Path) -> tuple[_Place, _Place | None]:
    if not isinstance(files, Mapping) or "x" not in files:
        example = '{x = "X.npy", y = "y.npy"}'
        raise UserError(f"`{setting}` must name files as {example}, got {one_line(files)}.")
    for word in files:
        if word not in ("x", "y", "columns"):
            hint = did_you_mean(word, ("x", "y", "columns"))
            raise UserError(f"`{setting}` has no setting {word!r}; {hint}")
    x, y = _file(f"{setting}.x", files["x"], base), files.get("y")
    if "columns" in files:
        x = x._replace(columns=_columns(f"{setting}.columns", files["columns"], x.path))
    if y is None:
        return _with_key(x, "x"), None
    if isinstance(y, str) and _is_file_name(y):
        return _with_key(x, "x"), _with_key(_file(f"{setting}.y", y, base), "y")
    if isinstance(y, str) and _kind(x.path) == ".npz":
        return _with_key(x, "x", taken=y), _Place(x.path, y)
    columns = _columns(f"{setting}.y", y if isinstance(y, list | tuple) else [y], x.path)
    if _kind(x.path) not in SUFFIXES:
        read_table_or_array(x.path)  # says which files are read
    return _with_key(x, "x"), _Place(x.path, x.key, columns)


def _columns(setting: str, value: Any, path: Path) -> tuple[str | int, ...]:
    whole = isinstance(value, list | tuple) and value
    if not whole or not all(isinstance(c, str | int) and not isinstance(c, bool) for c in value):
        raise UserError(
            f"`{setting}` must be columns of `{path.name}` by name or number, or for y a file, got "
            f"{one_line(value)}."
        )
    return tuple(value)


def _kind(path: Path) -> str:
    return path.suffix.lower()


def _is_file_name(text: str) -> bool:
    return _kind(Path(text)) in SUFFIXES or ".npz:" in text


def _file(setting: str, value: Any, base: Path) -> _Place:
    if not isinstance(value, str | Path) or not str(value):
        raise UserError(f"`{setting}` must be the name of a file, got {one_line(value)}.")
    name, npz, key = str(value).partition(".npz:")
    path = base / Path(name + npz.rstrip(":")).expanduser()
    return _Place(path, key if npz else None)


def _with_key(place: _Place, role: str, taken: str = "") -> _Place:
    """With the key of an npz of several arrays: the one called x (or y), if there is just one."""
    if _kind(place.path) != ".npz" or place.key is not None or not place.path.is_file():
        return place
    keys = [key for key in npz_keys(place.path) if key != taken]
    named = [key for key in keys if key.lower() == role]
    if len(keys) > 1 and len(named) == 1:
        return place._replace(key=named[0])
    return place._replace(key=keys[0]) if len(keys) == 1 else place


def _inputs(content: FileContent, path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    """Images as (n, height, width, channels) uint8, all else as (n, ...) float32."""
    x, notes = content.values, content.notes
    if x.dtype.kind in "US":
        fault = f"holds text ({one_line(str(x.reshape(-1)[0]))}) where numbers belong"
        raise damaged(path, fault, "turn it into numbers")
    x = as_numbers(x, str(path))
    if x.dtype == np.uint8 and x.ndim == 3:
        note = f"{path.name} has grey images of {x.shape[1:]}: a channel axis was added"
        return x[..., None], (*notes, note)
    if x.dtype == np.uint8 and x.ndim == 4:
        if x.shape[1] in (1, 3) and x.shape[3] > 4:
            fault = f"holds images with channels first, {x.shape[1:]}"
            raise damaged(path, fault, "save it with channels last, `x.transpose(0, 2, 3, 1)`")
        return x, notes
    if x.ndim == 1:
        x, notes = (
            x[:, None],
            (*notes, f"{path.name} has one number a row: a column was made of it"),
        )
    return x.astype(np.float32, copy=False), notes
