"""Counts: the network gives the logarithm of the rate, y ~ Poisson(exp(f(x)))."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from pxsgmcmc.data.check import check_counts
from pxsgmcmc.errors import UserError
from pxsgmcmc.likelihoods._jax_averages import poisson_averages
from pxsgmcmc.likelihoods._mixture_prediction import MixtureCollector, MixturePrediction
from pxsgmcmc.metrics._metric_sums import MetricSums, regression_sums
from pxsgmcmc.metrics._windows import Windows
from pxsgmcmc.metrics.mixtures import PoissonMixture
from pxsgmcmc.metrics.regression import measure_regression_windows
from pxsgmcmc.tree import widen
from pxsgmcmc.types import Array, Tree


def poisson() -> "Poisson":
    """Counts 0, 1, 2, ... with a log rate from the network for each target.

    Example:
      >>> round(float(poisson().log_prob(jnp.zeros((1, 1)), jnp.ones((1, 1)))[0]), 4)
      -1.0
    """
    return Poisson()


@dataclass(frozen=True)
class Poisson:
    """Made by `poisson`. A row of the distribution is the log rates of all targets."""

    name = "poisson()"
    task = "regression"
    headline = ("rmse", "nll", "crps", "coverage90", "width90", "mae")

    def outputs(self, targets: int) -> int:
        """A log rate for each target."""
        return targets

    def start(self) -> Mapping[str, Array]:
        """Nothing is sampled besides the network."""
        return {}

    def energy(self, own: Tree) -> Array:
        """Nothing."""
        del own
        return jnp.zeros((), float)

    def check_targets(self, y: Any, names: tuple[str, ...], where: str) -> np.ndarray:
        """Whole numbers from 0, (rows, targets) float32."""
        return check_counts(y, where)

    def distribution(self, outputs: Array, own: Tree, targets: int) -> Array:
        """The log rates."""
        del own
        outputs = outputs[:, None] if outputs.ndim == 1 else outputs
        if outputs.ndim != 2 or outputs.shape[1] != targets:
            raise UserError(
                f"`apply` must give log rates of shape (batch, {targets}), got {outputs.shape}."
            )
        return widen(outputs)

    def log_prob(self, distribution: Array, y: Array) -> Array:
        """Summed over targets, (batch,)."""
        y = widen(y).reshape(distribution.shape)
        return jnp.sum(y * distribution - jnp.exp(distribution) - gammaln(y + 1.0), axis=1)

    def mixture(self, distributions: np.ndarray) -> PoissonMixture:
        """(draws, rows, targets) as the mixture that is predicted."""
        return PoissonMixture(np.exp(np.asarray(distributions, np.float64)))

    def collector(self, rows: int) -> MixtureCollector:
        """Keeps every draw's rows: quantiles need them all."""
        return MixtureCollector(rows, lambda kept: MixturePrediction(self.mixture(kept)))

    def average(self, distributions: Array, levels: tuple[float, ...]) -> dict[str, Array]:
        """Mean, standard deviation, the two parts of the variance, quantiles."""
        return poisson_averages(distributions, levels)

    def sums(self, distributions: np.ndarray, y: np.ndarray) -> MetricSums:
        """All of `pxsgmcmc.metrics.REGRESSION_METRICS`."""
        return regression_sums(self.mixture(distributions), y)

    def measure_windows(
        self, distributions: np.ndarray, y: np.ndarray, names: tuple[str, ...], windows: Windows
    ) -> dict[str, np.ndarray]:
        """Name -> (windows,)."""
        mixture = self.mixture(distributions)
        return measure_regression_windows(mixture, mixture.observed(y), names, windows)

    def uncertainty(self, distributions: np.ndarray) -> np.ndarray:
        """Standard deviation of the draws' rates, averaged over targets."""
        return self.followed(distributions).std(axis=0).mean(axis=-1)

    def followed(self, distributions: np.ndarray) -> np.ndarray:
        """Rates."""
        return np.exp(np.asarray(distributions, np.float64))

    def simulate(self, distribution: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Counts drawn from the distribution, (rows, targets)."""
        return rng.poisson(np.exp(np.asarray(distribution, np.float64))).astype(np.float64)

    def error(self, distribution: np.ndarray, y: np.ndarray) -> float:
        """Root of the mean squared error of the rate."""
        rate = np.exp(np.asarray(distribution, np.float64))
        return float(np.sqrt(np.mean((rate - y.reshape(rate.shape)) ** 2)))
