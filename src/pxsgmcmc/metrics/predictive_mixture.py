"""What every predictive mixture can do, whatever its components: averages over the draws.

A draw m predicts a distribution for every row and target; the posterior predictive distribution
weighs all draws alike. By the law of total variance, with mean and variance of draw m,

    variance = mean over m of variance_m  +  variance over m of mean_m
             = aleatoric                  +  epistemic

so that both parts are variances, in the square of the target's unit.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from pxsgmcmc.errors import check_count
from pxsgmcmc.metrics._checks import (
    BLOCK_ENTRIES,
    check_levels,
    check_observed,
    check_parameters,
)
from pxsgmcmc.metrics._quantiles import Cdf, invert_cdf


class PredictiveMixture(ABC):
    """Draws' predictive distributions with equal weights; made as one of its three kinds.

    Results have axes (rows, targets), quantiles and samples one more in front. Rows are worked on
    in blocks, in float64: parameters may be mapped files.

    Attributes:
      parameters: name -> (draws, rows, targets).
    """

    counting = False  # whether only whole numbers have probability

    def __init__(self, **parameters: Any):
        self.parameters = check_parameters(parameters)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of draws, rows and targets."""
        draws, rows, targets = next(iter(self.parameters.values())).shape
        return draws, rows, targets

    def __repr__(self) -> str:
        """Kind and size."""
        draws, rows, targets = self.shape
        return f"{type(self).__name__}(draws={draws}, rows={rows}, targets={targets})"

    @abstractmethod
    def component_mean(self) -> np.ndarray:
        """Mean of every draw, (draws, rows, targets)."""

    @abstractmethod
    def component_variance(self) -> np.ndarray:
        """Variance of every draw, (draws, rows, targets)."""

    @abstractmethod
    def component_log_density(self, y: np.ndarray) -> np.ndarray:
        """Log density, or log probability of a count, under every draw."""

    @abstractmethod
    def component_cdf(self, y: np.ndarray) -> np.ndarray:
        """Probability of at most `y` under every draw."""

    @abstractmethod
    def quantile_bracket(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest quantile of any draw; the mixture's own lies between."""

    @abstractmethod
    def component_sample(self, rng: np.random.Generator) -> np.ndarray:
        """One random value of every draw."""

    @abstractmethod
    def block_crps(self, y: np.ndarray) -> np.ndarray:
        """CRPS without checks and without blocks."""

    def check_support(self, y: np.ndarray) -> np.ndarray:
        """Return `y` if it can be observed at all."""
        return y

    def observed(self, y: Any) -> np.ndarray:
        """Return `y` as checked (rows, targets) float64; (rows,) will do for one target."""
        return self.check_support(check_observed(y, self.shape))

    def select(self, index: Any) -> Self:
        """The mixture whose parameters are these ones' `parameters[index]`, in float64."""
        chosen = copy.copy(self)
        chosen.parameters = {k: v[index].astype(np.float64) for k, v in self.parameters.items()}
        return chosen

    def blocks(self) -> Iterator[tuple[slice, Self]]:
        """Yield (rows, the mixture of those rows) in float64, small enough for a cache."""
        draws, rows, targets = self.shape
        size = max(1, BLOCK_ENTRIES // (draws * targets))
        for start in range(0, rows, size):
            part = slice(start, min(start + size, rows))
            yield part, self.select((slice(None), part))

    def _by_rows(self, compute: Callable[..., np.ndarray], *along: np.ndarray) -> np.ndarray:
        parts = [compute(block, *(a[rows] for a in along)) for rows, block in self.blocks()]
        return np.concatenate(parts, axis=-2)

    def mean(self) -> np.ndarray:
        """Mean of the mixture, (rows, targets)."""
        return self._by_rows(lambda block: block.component_mean().mean(axis=0))

    def aleatoric(self) -> np.ndarray:
        """Mean variance of the draws: noise that every draw sees. (rows, targets)."""
        return self._by_rows(lambda block: block.component_variance().mean(axis=0))

    def epistemic(self) -> np.ndarray:
        """Variance of the draws' means: what the draws disagree about. (rows, targets)."""
        return self._by_rows(lambda block: block.component_mean().var(axis=0))

    def std(self) -> np.ndarray:
        """Root of aleatoric plus epistemic variance, (rows, targets)."""
        return np.sqrt(self.aleatoric() + self.epistemic())

    def log_density(self, y: Any) -> np.ndarray:
        """Log of the averaged density at `y`, each target on its own, (rows, targets)."""

        def compute(block: PredictiveMixture, y: np.ndarray) -> np.ndarray:
            # Unlike a sum of exponentials it takes -inf, where no draw gives y any probability.
            total = np.logaddexp.reduce(block.component_log_density(y), axis=0)
            return total - np.log(self.shape[0])

        return self._by_rows(compute, self.observed(y))

    def cdf(self, y: Any) -> np.ndarray:
        """Probability of at most `y`, (rows, targets)."""
        return self._by_rows(lambda b, y: b.component_cdf(y).mean(axis=0), self.observed(y))

    def crps(self, y: Any) -> np.ndarray:
        """Continuous ranked probability score of `y`, (rows, targets); see `metrics.crps`."""
        return self._by_rows(lambda block, y: block.block_crps(y), self.observed(y))

    def quantile(self, q: Any) -> np.ndarray:
        """Where the mixture's own cumulative distribution reaches `q`: by root finding, exactly.

        Args:
          q: a level between 0 and 1, both excluded, or a list of them.

        Returns:
          (rows, targets), or (levels, rows, targets) for a list.
        """
        levels = check_levels("q", q)

        def compute(block: PredictiveMixture) -> np.ndarray:
            return np.stack([block._block_quantile(level) for level in levels.ravel().tolist()])

        return self._by_rows(compute).reshape(*levels.shape, *self.shape[1:])

    def _block_quantile(self, level: float) -> np.ndarray:
        draws, rows, targets = self.shape
        flat = self.select(slice(None))
        flat.parameters = {k: v.reshape(draws, -1) for k, v in flat.parameters.items()}

        def cdf(x: np.ndarray, entries: np.ndarray) -> np.ndarray:
            return flat.select((slice(None), entries)).component_cdf(x).mean(axis=0)

        return self.solve(cdf, level, *flat.quantile_bracket(level)).reshape(rows, targets)

    def solve(self, cdf: Cdf, level: float, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Find where `cdf` reaches `level`."""
        return invert_cdf(cdf, level, low, high)

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Random values, (size, rows, targets).

        Each takes one draw, picked at random, for all rows and targets: rows are samples of the
        joint posterior predictive distribution, and hang together as one function's values do.
        """
        check_count("size", size, at_least=1)
        picked = rng.integers(self.shape[0], size=size)
        return np.stack([self.select(slice(m, m + 1)).component_sample(rng)[0] for m in picked])
