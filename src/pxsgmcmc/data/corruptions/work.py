"""What a corruption works on: pixels in [0, 1], a random generator per image, and a scale.

The published constants are lengths on a picture of 32 x 32 pixels. An image with a shorter side of
`s` pixels is corrupted on a working grid:

- s < 32: every pixel becomes a square of `fold` x `fold` equal ones, fold = ceil(32 / s), and the
  result is averaged back over these squares. So an 8 x 8 image is treated as a picture of 32 x 32
  drawn in fat pixels, and a blur of one fine pixel leaks a quarter of that into a neighbour.
- lengths are multiplied by `scale` = fold * s / 32, which is at least 1. (8, 16 and 32: 1; 14:
  42 / 32; 28: 56 / 32; 96: 3.)
- textures laid over the image (fog, frost, snow, spatter) are made at 32 pixels a side and
  enlarged by `scale`.

Changes that act pixel by pixel (noise, contrast, brightness, saturation) and those measured in
pixels of the stored image (JPEG's blocks, pixelation) see the image as it is.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pxsgmcmc.data._extra import need

BASE = 32


class Work(NamedTuple):
    """A chunk of images being corrupted."""

    pixels: np.ndarray  # (n, height, width, channels) float32 in [0, 1]
    generators: Sequence[np.random.Generator]  # one an image
    scale: float  # working pixels in one of the 32 that the constants count in

    def normal(self, *shape: int) -> np.ndarray:
        """Standard normals (n, *shape), float32, each image from its own generator."""
        return np.stack([g.standard_normal(shape, dtype=np.float32) for g in self.generators])

    def uniform(self, low: float, high: float, *shape: int) -> np.ndarray:
        """Uniforms on [low, high), (n, *shape), float32, each image from its own generator."""
        unit = np.stack([g.random(shape, dtype=np.float32) for g in self.generators])
        return np.float32(low) + np.float32(high - low) * unit

    @property
    def texture_shape(self) -> tuple[int, int]:
        """Height and width of a texture at 32 pixels a side that covers the working grid."""
        _, height, width, _ = self.pixels.shape
        return math.ceil(height / self.scale), math.ceil(width / self.scale)

    def enlarge(self, texture: np.ndarray) -> np.ndarray:
        """Stretch textures (n, rows, columns, channels) over the working grid, bilinearly."""
        if self.scale == 1.0:
            return texture
        _, height, width, _ = self.pixels.shape
        down = linear_weights(texture.shape[1], height, self.scale)
        across = linear_weights(texture.shape[2], width, self.scale)
        return along_rows_and_columns(down, texture, across)


def linear_weights(size: int, target: int, scale: float) -> np.ndarray:
    """Weights (target, size) that read a line of `size` values at every 1 / scale, bilinearly.

    Example:
      >>> linear_weights(2, 4, 2.0).tolist()
      [[1.0, 0.0], [0.75, 0.25], [0.25, 0.75], [0.0, 1.0]]
    """
    at = np.clip((np.arange(target) + 0.5) / scale - 0.5, 0, size - 1)
    return np.maximum(0.0, 1.0 - np.abs(at[:, None] - np.arange(size))).astype(np.float32)


def along_rows_and_columns(down: np.ndarray, x: np.ndarray, across: np.ndarray) -> np.ndarray:
    """Apply a matrix to the row axis and one to the column axis of (n, rows, columns, channels)."""
    return resample(kronecker(down, across), x, (len(down), len(across)))


def kronecker(down: np.ndarray, across: np.ndarray) -> Any:
    """The sparse matrix that does to flattened images what `down` and `across` do to their axes."""
    sparse = need("scipy.sparse", "Resampling images")
    return sparse.kron(sparse.csr_array(down), sparse.csr_array(across), format="csr")


def resample(matrix: Any, x: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Images (n, *shape, channels) whose pixels are `matrix` times those of `x`."""
    n, rows, columns, channels = x.shape
    pixels_first = x.transpose(1, 2, 0, 3).reshape(rows * columns, n * channels)
    return (matrix @ pixels_first).reshape(*shape, n, channels).transpose(2, 0, 1, 3)


def refine(x: np.ndarray, fold: int) -> np.ndarray:
    """Repeat every pixel `fold` times in both directions."""
    return x.repeat(fold, axis=1).repeat(fold, axis=2)


def coarsen(x: np.ndarray, fold: int) -> np.ndarray:
    """Average squares of `fold` x `fold` pixels: undoes `refine`."""
    n, height, width, channels = x.shape
    return x.reshape(n, height // fold, fold, width // fold, fold, channels).mean(axis=(2, 4))


def tint(colour: Sequence[float], channels: int) -> np.ndarray:
    """An RGB colour from 0 .. 255 as (channels,) in [0, 1]; on grey images its luminance.

    Example:
      >>> tint((255, 255, 255), 1).round(3).tolist()
      [1.0]
    """
    rgb = np.asarray(colour, np.float32) / np.float32(255)
    return rgb if channels == 3 else luminance(rgb)


def luminance(rgb: np.ndarray) -> np.ndarray:
    """Grey value (..., 1) of (..., 3) or (..., 1) channels."""
    if rgb.shape[-1] == 1:
        return rgb
    return rgb @ np.array([[0.299], [0.587], [0.114]], rgb.dtype)
