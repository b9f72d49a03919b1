"""Mean and standard deviation of the training rows, which put inputs or targets on one scale."""

from collections.abc import Iterator

import msgspec
import numpy as np

from pxsgmcmc.data._arrays import blocks


class Standardisation(msgspec.Struct, frozen=True):
    """A shift and a scale for each feature, channel or target; plain numbers, so it goes into JSON.

    Attributes:
      mean: what is subtracted; in units of the data, for uint8 images in units of 255.
      std: what is then divided by; 1 where the training rows are all equal.

    Example:
      >>> scale = Standardisation((10.0,), (2.0,))
      >>> scale.apply(np.array([[14.0]])).item(), scale.undo(np.array([[2.0]])).item()
      (2.0, 14.0)
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def apply(self, values: np.ndarray) -> np.ndarray:
        """(values - mean) / std along the last axis, as float32."""
        return ((values - np.array(self.mean)) / np.array(self.std)).astype(np.float32)

    def undo(self, values: np.ndarray) -> np.ndarray:
        """What `apply` was given, as float32."""
        return (values * np.array(self.std) + np.array(self.mean)).astype(np.float32)


def identity(count: int) -> Standardisation:
    """The standardisation of `count` columns that changes nothing.

    Example:
      >>> identity(2)
      Standardisation(mean=(0.0, 0.0), std=(1.0, 1.0))
    """
    return Standardisation((0.0,) * count, (1.0,) * count)


def measure(values: np.ndarray) -> tuple[Standardisation, tuple[int, ...]]:
    """The standardisation along the last axis, and which of its columns are constant.

    Args:
      values: (n, ..., columns) features or targets as they are, or uint8 images, which count as
        numbers from 0 to 1. Files that are mapped are read a part at a time.

    Example:
      >>> measure(np.array([[1.0, 5.0], [3.0, 5.0]]))
      (Standardisation(mean=(2.0, 5.0), std=(1.0, 1.0)), (1,))
    """
    mean, square, constant = (_of_bytes if values.dtype == np.uint8 else _of_numbers)(values)
    std = np.where(constant, 1.0, np.sqrt(square))
    places = tuple(int(place) for place in np.flatnonzero(constant))
    return Standardisation(tuple(mean.tolist()), tuple(std.tolist())), places


def _of_numbers(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, variance and whether all are equal, by column; the mean first, lest digits cancel."""
    columns, count = values.shape[-1], values.size // values.shape[-1]
    total, lowest, highest = np.zeros(columns), np.full(columns, np.inf), np.full(columns, -np.inf)
    for block in _blocks(values):
        total += block.sum(axis=0, dtype=np.float64)
        lowest, highest = np.minimum(lowest, block.min(0)), np.maximum(highest, block.max(0))
    mean = np.where(lowest == highest, lowest, total / count)
    square = np.zeros(columns)
    for block in _blocks(values):
        square += ((block - mean) ** 2).sum(axis=0)
    return mean, square / count, lowest == highest


def _of_bytes(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `_of_numbers`, from counts of the 256 values, in a twentieth of the time."""
    channels = range(values.shape[-1])
    counts = np.zeros((len(channels), 256))
    for block in _blocks(values):
        counts += [np.bincount(block[:, channel], minlength=256) for channel in channels]
    share, level = counts / counts.sum(axis=1, keepdims=True), np.arange(256) / 255
    mean = share @ level
    square = (share * (level - mean[:, None]) ** 2).sum(axis=1)
    return mean, square, (counts > 0).sum(axis=1) == 1


def _blocks(values: np.ndarray) -> Iterator[np.ndarray]:
    """Rows as (entries, columns), a part at a time."""
    for _, rows in blocks(values):
        yield np.asarray(rows).reshape(-1, values.shape[-1])
