"""The quantities that regression metrics are made of, for one block of rows.

As `Ensemble` for classification: draws are seen through windows, and each quantity is computed when
first asked for, with axes (windows, rows, targets).
"""

from functools import cached_property

import numpy as np

from pxsgmcmc.metrics._windows import Windows
from pxsgmcmc.metrics.predictive_mixture import PredictiveMixture


class RegressionEnsemble:
    """Draws' predictive distributions on some rows of data, seen through windows over the draws."""

    def __init__(self, mixture: PredictiveMixture, y: np.ndarray, windows: Windows):
        """Keep a block of a mixture in float64, y (rows, targets), and the windows."""
        self.mixture = mixture
        self.y = y
        self.windows = windows

    @cached_property
    def mixtures(self) -> list[PredictiveMixture]:
        """The mixture of each window, for what cannot be folded."""
        draws = self.mixture.shape[0]
        members = self.windows.fold(np.add, np.eye(draws)) > 0.0
        return [self.mixture.select(chosen) for chosen in members]

    @cached_property
    def member_log_density(self) -> np.ndarray:
        """Log density of y under each draw, (draws, rows, targets)."""
        return self.mixture.component_log_density(self.y)

    @cached_property
    def log_density(self) -> np.ndarray:
        """Log of the averaged density of y."""
        return self.windows.log_mean_exp(self.member_log_density)

    @cached_property
    def mean(self) -> np.ndarray:
        """Mean of the mixture."""
        return self.windows.mean(self.mixture.component_mean())

    @cached_property
    def aleatoric(self) -> np.ndarray:
        """Mean variance of the draws."""
        return self.windows.mean(self.mixture.component_variance())

    @cached_property
    def epistemic(self) -> np.ndarray:
        """Variance of the draws' means."""
        means = self.mixture.component_mean()
        shifted = means - means.mean(axis=0)  # a difference of squares keeps its digits near 0
        return np.maximum(self.windows.mean(shifted**2) - self.windows.mean(shifted) ** 2, 0.0)

    @cached_property
    def variance(self) -> np.ndarray:
        """Variance of the mixture."""
        return self.aleatoric + self.epistemic

    def inside(self, share: float) -> np.ndarray:
        """Whether y lies between the quantiles that leave (1 - share) / 2 on each side."""
        tail = 0.5 * (1.0 - share)
        at_y = self.windows.mean(self.mixture.component_cdf(self.y))
        if not self.mixture.counting:
            return (at_y >= tail) & (at_y <= 1.0 - tail)
        # The upper quantile is the first count to reach 1 - tail: y is above it if y - 1 does.
        before_y = self.windows.mean(self.mixture.component_cdf(self.y - 1.0))
        return (at_y >= tail) & (before_y < 1.0 - tail)

    def width(self, share: float) -> np.ndarray:
        """Distance between those quantiles."""
        tail = 0.5 * (1.0 - share)
        ends = [mixture.quantile([tail, 1.0 - tail]) for mixture in self.mixtures]
        return np.stack([high - low for low, high in ends])

    @cached_property
    def crps(self) -> np.ndarray:
        """Continuous ranked probability score of y."""
        return np.stack([mixture.block_crps(self.y) for mixture in self.mixtures])
