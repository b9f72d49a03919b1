"""Metrics that need nothing but log densities: of the average over draws, and of single draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pxsgmcmc.errors import UserError
from pxsgmcmc.metrics._windows import Windows, whole

NAMES = ("nll", "ind")


@dataclass(frozen=True)
class DensitySums:
    """Sums over rows of the two metrics.

    Attributes:
      rows: how many.
      nll: sum of minus the log of the averaged density.
      ind: sum of minus the averaged log density.
    """

    rows: int
    nll: float
    ind: float

    @staticmethod
    def of(log_densities: np.ndarray) -> DensitySums:
        """From (draws, rows).

        Example:
          >>> bool(DensitySums.of(np.log([[0.5], [0.25]])).metrics()["nll"] == -np.log(0.375))
          True
        """
        sums = _window_sums(log_densities, whole(len(log_densities)))
        return DensitySums(log_densities.shape[1], float(sums["nll"][0]), float(sums["ind"][0]))

    def __add__(self, other: DensitySums) -> DensitySums:
        """The rows of both."""
        return DensitySums(self.rows + other.rows, self.nll + other.nll, self.ind + other.ind)

    def metrics(self) -> dict[str, float]:
        """Name -> value."""
        return {"nll": self.nll / self.rows, "ind": self.ind / self.rows}


def measure_density_windows(
    log_densities: np.ndarray, names: tuple[str, ...], windows: Windows
) -> dict[str, np.ndarray]:
    """Metrics of every window over the draws, name -> (windows,)."""
    if unknown := sorted(set(names) - set(NAMES)):
        raise UserError(f"There is no metric {unknown[0]!r} here; known are {', '.join(NAMES)}.")
    sums = _window_sums(log_densities, windows)
    return {name: sums[name] / log_densities.shape[1] for name in names}


def _window_sums(log_densities: np.ndarray, windows: Windows) -> dict[str, np.ndarray]:
    wide = np.asarray(log_densities, np.float64)  # (draws, rows)
    return {
        "nll": -windows.log_mean_exp(wide).sum(axis=1),
        "ind": -windows.mean(wide).sum(axis=1),
    }
