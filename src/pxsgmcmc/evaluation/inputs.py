"""What a network trained on a data set may be asked about."""

from typing import Any

import numpy as np

from pxsgmcmc.errors import UserError
from pxsgmcmc.experiment import Experiment

_BLOCK = 4096  # rows looked at together, so that a mapped file is never whole in memory


def check_inputs(x: Any, experiment: Experiment, name: str = "x") -> None:
    """Raise `UserError` unless `x` are inputs on the scale in which the data set stores its own.

    Images are uint8 from 0 to 255, or floating-point numbers from 0 to 255. Floats that all lie
    between 0 and 1 are refused, since they are images on another scale and would be read as black.
    Features are floating-point numbers, not normalised.
    """
    rows = experiment.train[0]
    shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
    if shape is None or dtype is None:
        raise UserError(f"`{name}` must be an array, got {type(x).__name__}.")
    if len(shape) != rows.ndim or shape[1:] != rows.shape[1:]:
        wanted = ", ".join(map(str, rows.shape[1:]))
        raise UserError(
            f"`{name}` must have shape (rows, {wanted}), as the network was trained on, got "
            f"{tuple(shape)}."
        )
    if not shape[0]:
        raise UserError(f"`{name}` must hold at least one input, got none.")
    images = rows.dtype == np.uint8
    if dtype == np.uint8 and images:
        return
    if not np.issubdtype(dtype, np.floating):
        wanted = "uint8 or floating-point numbers" if images else "floating-point numbers"
        raise UserError(f"`{name}` must hold {wanted}, got {dtype}.")
    _check_values(x, images, name)


def _check_values(x: Any, images: bool, name: str) -> None:
    lowest, highest = np.inf, -np.inf
    for start in range(0, len(x), _BLOCK):
        block = np.asarray(x[start : start + _BLOCK])
        finite = np.isfinite(block).reshape(len(block), -1).all(axis=1)
        if not finite.all():
            row = start + int(np.argmin(finite))
            raise UserError(f"`{name}` must be finite, row {row} is not.")
        lowest, highest = min(lowest, block.min()), max(highest, block.max())
    if images and (lowest < 0.0 or highest > 255.0):
        raise UserError(
            f"`{name}` must hold pixels from 0 to 255, as stored and not normalised, got values "
            f"from {lowest:.4g} to {highest:.4g}."
        )
    if images and highest <= 1.0:
        raise UserError(
            f"`{name}` must hold pixels from 0 to 255, got none above 1: multiply by 255."
        )
