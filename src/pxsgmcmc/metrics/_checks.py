"""What the metrics ask of their input, each rule in one sentence when it is broken."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pxsgmcmc.errors import UserError, one_line

# Float64 entries in a block of rows over all draws: 2 MB, which a processor's cache can hold.
# Beyond what is passed in, metrics need some ten arrays of this size, however many draws and data.
BLOCK_ENTRIES = 2**18


def check_real(name: str, values: Any) -> np.ndarray:
    """Return `values` as an array of real numbers, uncopied where it is one already."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise UserError(f"`{name}` must hold real numbers, got an array of {array.dtype}.")
    return array


def check_logits(logits: Any) -> np.ndarray:
    """Return logits as (draws, data, classes); (data, classes) is taken for a single draw."""
    logits = check_real("logits", logits)
    if logits.ndim == 2:
        logits = logits[None]
    if logits.ndim != 3:
        shape = logits.shape
        raise UserError(f"`logits` must have axes (draws, data, classes), got shape {shape}.")
    if 0 in logits.shape:
        raise UserError(
            f"`logits` must hold at least one draw, one row of data and one class, "
            f"got shape {logits.shape} (draws, data, classes)."
        )
    return logits


def check_labels(labels: Any, logits: np.ndarray) -> np.ndarray:
    """Return labels as (data,) whole numbers that index the classes of `logits`."""
    labels = np.asarray(labels)
    _, data, classes = logits.shape
    if labels.dtype.kind not in "iu":
        raise UserError(f"`labels` must be whole numbers, got an array of {labels.dtype}.")
    if labels.shape != (data,):
        raise UserError(
            f"`labels` must have one entry for each of the {data} rows of `logits`, "
            f"got shape {labels.shape}."
        )
    outside = np.flatnonzero((labels < 0) | (labels >= classes))
    if outside.size:
        row = outside[0]
        raise UserError(f"`labels` must lie in 0..{classes - 1}, got {labels[row]} in row {row}.")
    return labels.astype(np.int64, copy=False)


def check_levels(name: str, levels: Any) -> np.ndarray:
    """Return a level of a quantile, or a list of them, as float64."""
    try:
        found = np.asarray(levels, np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim > 1 or not found.size or not ((found > 0.0) & (found < 1.0)).all():
        raise UserError(
            f"`{name}` must be a level between 0 and 1 (both excluded) or a list of them, "
            f"got {one_line(levels)}."
        )
    return found


def check_vector(name: str, values: Any, length: int | None = None) -> np.ndarray:
    """Return `values` as a non-empty (n,) float64 array of finite numbers."""
    array = check_real(name, values).astype(np.float64)
    if array.ndim != 1 or not array.size:
        raise UserError(f"`{name}` must be a non-empty list of numbers, got shape {array.shape}.")
    if length is not None and len(array) != length:
        raise UserError(f"`{name}` must have {length} entries, got {len(array)}.")
    if not np.isfinite(array).all():
        row = np.flatnonzero(~np.isfinite(array))[0]
        raise UserError(f"`{name}` must be finite, got {array[row]} at position {row}.")
    return array


def check_probabilities(name: str, values: Any) -> np.ndarray:
    """Return `values` as (data, classes) float64 rows that are non-negative and sum to one."""
    array = check_real(name, values).astype(np.float64)
    if array.ndim != 2 or not array.size:
        raise UserError(
            f"`{name}` must be non-empty with axes (data, classes), got shape {array.shape}."
        )
    # A sum kept in float16 or float32 misses one by up to about 1e-3.
    wrong = ~(np.isclose(array.sum(axis=1), 1.0, atol=1e-3, rtol=0.0) & (array >= 0.0).all(axis=1))
    if wrong.any():
        row = np.flatnonzero(wrong)[0]
        raise UserError(
            f"`{name}` must be probabilities that sum to one in every row, got {array[row]} in row "
            f"{row}; pass logits through a softmax first."
        )
    return array


def row_blocks(logits: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield (rows, logits of those rows) in float64, small enough to be worked on in memory."""
    draws, data, classes = logits.shape
    size = max(1, BLOCK_ENTRIES // (draws * classes))
    for start in range(0, data, size):
        rows = slice(start, min(start + size, data))
        block = logits[:, rows].astype(np.float64)
        if not np.isfinite(block).all():
            draw, row, k = np.argwhere(~np.isfinite(block))[0]
            raise UserError(
                f"`logits` must be finite, got {block[draw, row, k]} in draw {draw}, "
                f"row {start + row}, class {k}."
            )
        yield rows, block


def check_parameters(parameters: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return parameters of a mixture, finite and broadcast to one (draws, rows, targets)."""
    arrays = {name: check_real(name, values) for name, values in parameters.items()}
    for name, array in arrays.items():
        require(name, array)
    shapes = ", ".join(f"`{name}` {array.shape}" for name, array in arrays.items())
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        raise UserError(
            f"Parameters of a mixture must broadcast to one shape, got {shapes}."
        ) from None
    if len(shape) != 3 or 0 in shape:
        raise UserError(
            f"Parameters of a mixture must have axes (draws, rows, targets), none of them empty, "
            f"got {shapes}; one target takes an axis of length 1 at the end."
        )
    return {name: np.broadcast_to(array, shape) for name, array in arrays.items()}


def require(
    name: str, array: np.ndarray, *, above: float = -np.inf, at_least: float = -np.inf
) -> None:
    """Refuse an array with an entry that is not finite or not within the bounds."""
    wrong = np.argwhere(~(np.isfinite(array) & (array > above) & (array >= at_least)))
    if len(wrong):
        place = tuple(wrong[0].tolist())
        rule = "be finite"
        if above > -np.inf:
            rule += f" and greater than {above:g}"
        if at_least > -np.inf:
            rule += f" and at least {at_least:g}"
        raise UserError(f"`{name}` must {rule}, got {array[place]} at index {place}.")


def check_observed(y: Any, shape: tuple[int, int, int]) -> np.ndarray:
    """Return `y` as (rows, targets) float64 for a mixture of this shape."""
    _, rows, targets = shape
    array = check_real("y", y).astype(np.float64)
    if array.ndim == 1 and targets == 1:
        array = array[:, None]
    if array.shape != (rows, targets):
        raise UserError(
            f"`y` must have shape {(rows, targets)} (rows, targets) as the mixture has, got shape "
            f"{np.shape(y)}."
        )
    require("y", array)
    return array
