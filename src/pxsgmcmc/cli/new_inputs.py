"""New inputs for a run, in files of the kinds that training data may have."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pxsgmcmc.data._read_split import read_split
from pxsgmcmc.data._user_files import SUFFIXES, map_npy
from pxsgmcmc.errors import UserError

if TYPE_CHECKING:
    from pxsgmcmc.config.schema import Data
    from pxsgmcmc.run import Run

_TABLES = (".csv", ".tsv", ".parquet")


def check_readable(inputs: str) -> None:
    """Refuse what is no file that can be read, before long work."""
    path = _path(inputs)
    if not os.path.lexists(path):
        raise UserError(f"There is no file `{path}`.")
    if not path.is_file():  # a pipe would be waited for, and a device may have no end
        reason = "Is a directory" if path.is_dir() else "it is not a regular file"
        raise UserError(f"`{path}` cannot be read: {reason}.")
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(f"`inputs` must be a file ending in {', '.join(SUFFIXES)}, got `{path}`.")


def read_new_inputs(inputs: str, run: "Run") -> np.ndarray:
    """The inputs in a file; nothing in it is executed.

    Args:
      inputs: ends in .npy, which is mapped, .npz, .csv, .tsv or .parquet; "new.npz:images" is one
        array of several.
      run: to predict with. Where it learned from a table whose columns have names, the columns of
        another table are found by these, in whatever order they are; others are left alone.
    """
    kind = _path(inputs).suffix.lower()
    if kind == ".npy":
        return _with_column(_mapped(Path(inputs)), run)
    files: dict[str, Any] = {"x": inputs}
    data = _training_files(run) if kind in _TABLES else None
    if data is None or data.train is None:
        return read_split("inputs", files, Path()).x
    names = _training_columns(run, data)
    if not names and "columns" in data.train:
        files["columns"] = data.train["columns"]
    return read_split("inputs", files, Path(), header=data.header, columns=names).x


def _path(inputs: str) -> Path:
    name, npz, _ = inputs.partition(".npz:")
    return Path(name + npz.removesuffix(":"))


def _training_files(run: "Run") -> "Data | None":
    """The section [data] of a run that learned from files; None of any other."""
    from pxsgmcmc.config import started_from_python
    from pxsgmcmc.config.opening import config_of

    record = run.records[0]
    if started_from_python(record.config):
        return None
    data = config_of(record).data
    return data if data is not None and data.train is not None else None


def _training_columns(run: "Run", data: "Data") -> tuple[str, ...]:
    """The names of the columns that the run learned from, if that was a table with names."""
    assert data.train is not None
    if _path(str(data.train.get("x"))).suffix.lower() not in _TABLES:
        return ()
    return tuple(run.origin.get("prepared", {}).get("feature_names", ()))


def _mapped(path: Path) -> np.ndarray:
    """The array in an npy file, mapped."""
    try:
        x = map_npy(path)
        if x.dtype.kind not in "biuf" or not x.ndim:
            raise UserError(f"`{path}` holds {x.dtype} of shape {x.shape}.")
    except UserError as error:
        message = f"`inputs` must be an npy file of numbers, a row for each input: {error}"
        raise UserError(message) from error
    return x


def _with_column(x: np.ndarray, run: "Run") -> np.ndarray:
    """With the axis that training files are given too: one number a row, or grey images."""
    like = run.need_problem("predict").train.x.shape
    return x[..., None] if like[-1] == 1 and x.ndim == len(like) - 1 else x
