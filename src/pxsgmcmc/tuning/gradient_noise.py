"""How much the gradient of a batch differs from that of all data, at one position.

Batches are cut from shuffled rows, as a chain's are. The spread of those of one epoch around their
own mean, s^2, is that of batches drawn with replacement, whatever their number; a batch of B of N
rows drawn without replacement has variance (1 - B / N) s^2, none at B = N.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class GradientNoise(NamedTuple):
    """Deviations of the gradients of a few batches."""

    deviations: np.ndarray  # (batches, coordinates), scaled so that their mean square is variance
    mean: np.ndarray  # (coordinates,) mean gradient of the batches

    def variance(self, places: slice) -> float:
        """Variance of a coordinate of the gradient, mean over those at `places`."""
        return float(np.mean(np.square(self.deviations[:, places], dtype=np.float64)))

    def along(self, direction: np.ndarray, places: slice) -> float:
        """Variance of the gradient along a unit vector of the coordinates at `places`."""
        return float(np.mean(np.square(self.deviations[:, places] @ direction, dtype=np.float64)))


def gradient_noise(
    gradient: Callable[[np.ndarray], np.ndarray],
    *,
    data_size: int,
    batch_size: int,
    count: int,
    rng: np.random.Generator,
) -> GradientNoise:
    """Measure the noise of the gradient at a batch size.

    Args:
      gradient: rows of a batch -> (coordinates,) gradient of the energy on it.
      data_size: rows in all.
      batch_size: rows in a batch.
      count: batches to look at; those of an epoch are looked at together, so there may be one more.
      rng: that shuffles the rows.

    Example:
      >>> rng = np.random.default_rng(0)
      >>> noise = gradient_noise(
      ...     lambda rows: 4.0 * np.mean(rows)[None],
      ...     data_size=4, batch_size=2, count=2000, rng=rng,
      ... )
      >>> abs(noise.variance(slice(None)) - 16 * 1.25 / 2 * (4 - 2) / (4 - 1)) < 1.0
      True
    """
    if batch_size == data_size:
        mean = gradient(np.arange(data_size))
        return GradientNoise(np.zeros_like(mean)[None], mean)
    deviations: list[np.ndarray] = []
    means: list[np.ndarray] = []
    while sum(map(len, deviations)) < count:
        rows = np.stack([gradient(rows) for rows in _cut(data_size, batch_size, count, rng)])
        mean, n = rows.mean(axis=0), len(rows)
        # Two batches of different epochs are independent; those of one share no rows.
        share = 1.0 if 2 * batch_size > data_size else 1.0 - batch_size / data_size
        deviations.append((rows - mean) * rows.dtype.type(np.sqrt(share * n / (n - 1))))
        means.append(mean)
    return GradientNoise(np.concatenate(deviations), np.mean(means, axis=0))


def _cut(data_size: int, batch_size: int, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Rows of at least two batches: of one epoch, or of two where only one fits into each."""
    if 2 * batch_size > data_size:
        return [rng.permutation(data_size)[:batch_size] for _ in range(2)]
    order, together = rng.permutation(data_size), min(data_size // batch_size, max(count, 2))
    return [order[i * batch_size : (i + 1) * batch_size] for i in range(together)]
