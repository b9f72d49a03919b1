"""Singular values of layers: of convolutions as operators on images, and of factor matrices.

A convolution over an n x n image that wraps around at its edges is block-diagonal in the Fourier
basis: one (in, out) matrix per frequency, the transform of the kernel at that frequency. Its
singular values are those of the n^2 matrices (Sedghi, Gupta and Long, 2019). Stride is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from pxsgmcmc.errors import UserError, check_count

if TYPE_CHECKING:
    from jaxtyping import Float, Real


class Spectra(NamedTuple):
    """Extreme singular values by draw and layer."""

    layers: tuple[str, ...]
    largest: Float[np.ndarray, "draws layers"]
    smallest: Float[np.ndarray, "draws layers"]
    condition: Float[np.ndarray, "draws layers"]  # largest / smallest; inf where that is 0


def conv_singular_values(
    kernel: Real[np.ndarray, "a b c d"],
    size: int | tuple[int, int],
    layout: Literal["HWIO", "OIHW"] = "HWIO",
) -> Float[np.ndarray, " values"]:
    """All singular values of a convolution, largest first.

    Args:
      kernel: (height, width, in, out), or (out, in, height, width) if `layout` says so.
      size: height and width of the layer's input; a number for both.
      layout: the order of the kernel's axes.

    Returns:
      (height * width * min(in, out),).

    Example:
      >>> conv_singular_values(np.array([2.0, 7.0, -1.0]).reshape(3, 1, 1, 1), (4, 1)).round(4)
      array([8.    , 7.6158, 7.6158, 6.    ])
    """
    kernel = _check_array("kernel", kernel, ndim=4)
    if layout not in ("HWIO", "OIHW"):
        raise UserError(f"`layout` must be 'HWIO' or 'OIHW', got {layout!r}.")
    if layout == "OIHW":
        kernel = kernel.transpose(2, 3, 1, 0)
    height, width = (size, size) if isinstance(size, int) else size
    check_count("size", height, at_least=1)
    check_count("size", width, at_least=1)
    wrapped = _wrap(_wrap(kernel, height, axis=0), width, axis=1)
    # A real kernel's frequencies come in conjugate pairs with equal singular values: half suffice.
    half = np.linalg.svd(np.fft.rfft2(wrapped, axes=(0, 1)), compute_uv=False)
    mirrored = half[:, 1 : (width + 1) // 2]
    return np.sort(np.concatenate([half.ravel(), mirrored.ravel()]))[::-1]


def _wrap(kernel: np.ndarray, size: int, axis: int) -> np.ndarray:
    """Lay taps on a circle of `size` places; those that come round again add up."""
    taps = np.moveaxis(kernel, axis, 0)
    circle = np.zeros((size, *taps.shape[1:]))
    np.add.at(circle, np.arange(len(taps)) % size, taps)
    return np.moveaxis(circle, 0, axis)


def matrix_singular_values(
    matrix: Real[np.ndarray, "rows columns"],
) -> Float[np.ndarray, " values"]:
    """All singular values of a matrix, such as a factor P or Q, largest first.

    Example:
      >>> matrix_singular_values(np.array([[3.0, 0.0], [4.0, 5.0]])).round(5)
      array([6.7082 , 2.23607])
    """
    return np.linalg.svd(_check_array("matrix", matrix, ndim=2), compute_uv=False)


def condition_number(values: Float[np.ndarray, " values"]) -> float:
    """Largest over smallest singular value; infinite if the smallest is zero up to rounding.

    Example:
      >>> condition_number(np.array([8.0, 4.0, 2.0]))
      4.0
    """
    largest, smallest = float(np.max(values)), float(np.min(values))
    if smallest <= np.finfo(np.float64).eps * largest:
        return float("inf")
    return largest / smallest


def track_spectra(
    draws: Iterable[Mapping[str, Any]],
    singular_values: Callable[[str, Any], np.ndarray],
) -> Spectra:
    """Extreme singular values of every layer of every draw.

    Args:
      draws: for each draw, layer name -> kernel or matrix; read one by one.
      singular_values: (layer name, array) -> its singular values.

    Example:
      >>> sizes = {"stem": 8}
      >>> draws = [{"stem": np.ones((3, 3, 1, 1))}]
      >>> found = track_spectra(draws, lambda name, k: conv_singular_values(k, sizes[name]))
      >>> found.largest.round(4), found.smallest.round(4)
      (array([[9.]]), array([[0.1716]]))
    """
    rows: list[list[tuple[float, float, float]]] = []
    layers: tuple[str, ...] = ()
    for index, draw in enumerate(draws):
        layers = layers or tuple(draw)
        if set(draw) != set(layers) or not layers:
            raise UserError(
                f"Every draw must have the same layers, at least one: draw {index} has "
                f"{sorted(draw)}, the first has {sorted(layers)}."
            )
        values = [singular_values(layer, draw[layer]) for layer in layers]
        rows.append([(float(v.max()), float(v.min()), condition_number(v)) for v in values])
    if not rows:
        raise UserError("`draws` must hold at least one draw, got none.")
    largest, smallest, condition = np.moveaxis(np.array(rows), -1, 0)
    return Spectra(layers, largest, smallest, condition)


def _check_array(name: str, values: Any, ndim: int) -> np.ndarray:
    array = np.asarray(values, np.float64)
    if array.ndim != ndim or not array.size:
        raise UserError(f"`{name}` must be a non-empty array of {ndim} axes, got {array.shape}.")
    if not np.isfinite(array).all():
        raise UserError(f"`{name}` must be finite, got {array[~np.isfinite(array)][0]}.")
    return array
