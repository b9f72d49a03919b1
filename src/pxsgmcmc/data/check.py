"""Data checked on entry: each function returns NumPy arrays that are right, or raises one sentence.

Nothing is mended in silence but the type of the numbers: `float64` becomes `float32`. What could
mean two things (labels from 1, a column of labels, text) is named, with what to write instead.
"""

from typing import Any, NoReturn

import numpy as np

from pxsgmcmc.data._arrays import as_array, as_numbers, blocks, check_finite, rows_text
from pxsgmcmc.errors import UserError, one_line

_MOST_UNEVEN = 1000.0  # ratio of the spreads of two columns


def check_pair(value: Any, *, name: str) -> tuple[Any, Any]:
    """`value` if it is a pair of inputs and labels, as `train=(x, y)` has to be.

    Example:
      >>> check_pair(([[0.5]], [1]), name="train")
      ([[0.5]], [1])
    """
    if not isinstance(value, tuple | list) or len(value) != 2:
        shape = getattr(value, "shape", None)
        what = type(value).__name__ if shape is None else f"an array of shape {tuple(shape)}"
        raise UserError(f"`{name}` must be a pair of inputs and targets, got {what}; give (x, y).")
    return value[0], value[1]


def check_inputs(x: Any, name: str = "x", like: np.ndarray | None = None) -> np.ndarray:
    """Inputs as an array of finite float32, int32 or uint8 with at least one row.

    Args:
      x: (n, ...) rows.
      name: of the argument, for messages.
      like: inputs that these must agree with in type and in the shape of a row: the training
        inputs, for a test set.

    Example:
      >>> check_inputs([[1.0, 2.0]]).dtype.name
      'float32'
    """
    array = as_numbers(x, name)
    if like is None:
        return array
    _check_row_shape(array, name, like)
    if array.dtype != like.dtype:
        raise UserError(
            f"`{name}` must hold {like.dtype} as the training inputs do, got {array.dtype}; bring "
            f"it to the same scale and convert it by `.astype('{like.dtype}')`."
        )
    return array


def check_new_inputs(x: Any, like: np.ndarray, name: str = "x") -> np.ndarray:
    """Inputs to predict, on the scale in which the training inputs `like` are stored.

    Images are uint8 from 0 to 255, or floats from 0 to 255. Floats that all lie between 0 and 1 are
    refused: they are images on another scale and would be taken for black. Whole numbers serve
    where floats are wanted. Features are not standardised beforehand.

    Example:
      >>> check_new_inputs([[1, 2]], like=np.zeros((3, 2), np.float32)).dtype.name
      'float32'
    """
    array = as_numbers(x, name)
    _check_row_shape(array, name, like)
    if like.dtype == np.uint8 and array.dtype != np.uint8:
        _check_pixels(array, name)
        return array.astype(np.float32, copy=False)
    if like.dtype == np.float32 and array.dtype != np.uint8:
        return array.astype(np.float32, copy=False)
    return check_inputs(array, name, like)


def check_labels(y: Any, classes: int | None, name: str = "y") -> np.ndarray:
    """Labels as (n,) int32 from 0 to classes - 1.

    Args:
      y: (n,) whole numbers or truth values.
      classes: how many there are; None takes one more than the largest label.
      name: of the argument, for messages.

    Example:
      >>> check_labels([0, 2, 1], 3)
      array([0, 2, 1], dtype=int32)
    """
    labels = as_numbers(y, name)
    short = name.split()[-1]
    if labels.ndim == 2 and labels.shape[1] == 1:
        _refuse(
            name, f"labels of shape (n,), got {labels.shape}", f"drop the last axis: {short}[:, 0]"
        )
    if labels.ndim == 2 and set(np.unique(labels)) <= {0, 1} and (labels.sum(axis=1) == 1).all():
        remedy = f"turn one-hot rows into labels: {short}.argmax(axis=1)"
        _refuse(name, f"labels of shape (n,), got {labels.shape}", remedy)
    if labels.ndim != 1:
        _refuse(name, f"labels of shape (n,), got {labels.shape}", "give one label a row")
    if labels.dtype.kind == "f":
        whole = bool((labels == np.rint(labels)).all())
        remedy = f"use {short}.astype('int32')" if whole else "for real targets choose a regression"
        _refuse(name, f"labels that are whole numbers, got {labels.dtype}", remedy)
    lowest, highest = int(labels.min()), int(labels.max())
    most = highest if classes is None else classes - 1
    if lowest == -1 and set(np.unique(labels)) == {-1, 1}:
        _refuse(
            name,
            "labels from 0 on, got labels -1 and 1",
            f"map them to 0 and 1: ({short} + 1) // 2",
        )
    if lowest == 1 and (classes is None or highest == classes):
        _refuse(name, f"labels from 0 on, got labels from 1 to {highest}", "subtract 1")
    wrong = (labels < 0) | (labels > most)
    if wrong.any():
        rows = np.flatnonzero(wrong).tolist()
        got = f"{int(labels[rows[0]])} in {rows_text(rows)}"
        _refuse(name, f"labels from 0 to {most}", "correct them or the number of classes", got)
    return labels.astype(np.int32, copy=False)


def check_targets(y: Any, name: str = "y") -> np.ndarray:
    """Targets of a regression as (n, targets) float32; (n,) becomes (n, 1).

    Example:
      >>> check_targets([0.5, 2.0]).shape
      (2, 1)
    """
    targets = as_numbers(y, name).astype(np.float32, copy=False)
    if targets.ndim > 2:
        _refuse(
            name, f"targets of shape (n,) or (n, targets), got {targets.shape}", "flatten each row"
        )
    return targets[:, None] if targets.ndim == 1 else targets


def check_counts(y: Any, name: str = "y") -> np.ndarray:
    """Counts as (n, targets) float32 that hold whole numbers of at least 0; (n,) becomes (n, 1).

    Example:
      >>> check_counts([3, 0]).tolist()
      [[3.0], [0.0]]
    """
    counts = check_targets(y, name)
    wrong = ((counts < 0) | (counts != np.rint(counts))).any(axis=1)
    if wrong.any():
        rows = np.flatnonzero(wrong).tolist()
        first = counts[rows[0]][(counts[rows[0]] < 0) | (counts[rows[0]] % 1 != 0)][0]
        got = f"{first:g} in {rows_text(rows)}"
        _refuse(name, "counts, whole numbers of at least 0", "choose another likelihood", got)
    return counts


def encode_labels(y: Any, name: str = "y") -> tuple[np.ndarray, tuple[str, ...]]:
    """Labels of any kind as (n,) int32 codes and the sorted names that they stand for.

    Example:
      >>> codes, names = encode_labels(["dog", "cat", "dog"])
      >>> codes.tolist(), names
      ([1, 0, 1], ('cat', 'dog'))
    """
    labels = as_array(y, name)
    if labels.ndim != 1 or not len(labels):
        _refuse(name, f"labels of shape (n,), got {labels.shape}", "give one label a row")
    if labels.dtype.kind == "S":
        labels = np.char.decode(labels, "utf-8")
    if labels.dtype.kind == "f":
        check_finite(labels, name)
    if labels.dtype.kind == "O":
        missing = [row for row, label in enumerate(labels) if label is None or label != label]
        if missing:
            got = f"none in {rows_text(missing)}"
            _refuse(name, "a label in every row", "drop these rows", got)
        if not all(isinstance(label, str) for label in labels):
            odd = next(label for label in labels if not isinstance(label, str))
            _refuse(name, "labels of one kind", "convert them by `.astype(str)`", one_line(odd))
        labels = labels.astype(str)
    names, codes = np.unique(labels, return_inverse=True)
    return codes.astype(np.int32), tuple(str(label) for label in names.tolist())


def _check_row_shape(array: np.ndarray, name: str, like: np.ndarray) -> None:
    if array.shape[1:] != like.shape[1:]:
        shape = ", ".join(map(str, ("rows", *like.shape[1:])))
        remedy = "give several rows, x[None] for one" if array.shape == like.shape[1:] else ""
        _refuse(name, f"shape ({shape}) as the training inputs have, got {array.shape}", remedy)


def _check_pixels(array: np.ndarray, name: str) -> None:
    parts = [(block.min(), block.max()) for _, block in blocks(array)]
    lowest, highest = min(part[0] for part in parts), max(part[1] for part in parts)
    if lowest < 0 or highest > 255:
        got = f"values from {lowest:.4g} to {highest:.4g}"
        _refuse(name, "pixels from 0 to 255", "give them as stored, not normalised", got)
    if highest <= 1:
        _refuse(name, "pixels from 0 to 255", "multiply by 255", "none above 1")


def _refuse(name: str, rule: str, remedy: str, got: str | None = None) -> NoReturn:
    value = "" if got is None else f", got {got}"
    end = f"; {remedy}" if remedy else ""
    raise UserError(f"`{name}` must hold {rule}{value}{end}.")


def scale_warnings(x: np.ndarray) -> list[str]:
    """Say so if columns of a table differ in size by orders of magnitude, which no prior suits.

    Example:
      >>> scale_warnings(np.array([[0.0, 0.0], [1.0, 2.0]]))
      []
    """
    if x.ndim != 2 or x.shape[1] < 2 or len(x) < 2:
        return []
    spread = x.std(axis=0, dtype=np.float64)
    widest, narrowest = int(np.argmax(spread)), float(spread[spread > 0].min(initial=np.inf))
    if spread[widest] < _MOST_UNEVEN * narrowest:
        return []
    return [
        f"`train` has inputs of very different size: column {widest} spreads by "
        f"{spread[widest]:.3g}, another by {narrowest:.2g}; standardise them, or give the problem "
        "a `transform`."
    ]
