"""Predictive distributions of regression: mixtures of normals, of Student-t, of Poisson counts.

What they have in common, such as `mean`, `std`, `quantile`, `crps`, is in `PredictiveMixture`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from pxsgmcmc.errors import UserError
from pxsgmcmc.metrics._checks import require
from pxsgmcmc.metrics._crps import crps_normal, crps_poisson, crps_student_t
from pxsgmcmc.metrics._quantiles import Cdf, invert_counting_cdf
from pxsgmcmc.metrics.predictive_mixture import PredictiveMixture


class NormalMixture(PredictiveMixture):
    """Every draw predicts a normal distribution.

    CRPS is in closed form; its time grows with the square of the number of draws.

    Args:
      mean: (draws, rows, targets).
      scale: Standard deviations of the noise, positive; of the same shape, or one that NumPy
        broadcasts to it, such as a single number.

    Example:
      >>> mixture = NormalMixture(mean=[[[0.0]], [[2.0]]], scale=1.0)  # two draws, one row
      >>> mixture.mean(), mixture.aleatoric(), mixture.epistemic()
      (array([[1.]]), array([[1.]]), array([[1.]]))
      >>> mixture.quantile([0.05, 0.5]).ravel().round(4)
      array([-1.2845,  1.    ])
    """

    def __init__(self, mean: Any, scale: Any):
        super().__init__(mean=mean, scale=scale)
        require("scale", self.parameters["scale"], above=0.0)

    def component_mean(self) -> np.ndarray:
        """The parameter `mean`."""
        return self.parameters["mean"]

    def component_variance(self) -> np.ndarray:
        """Square of `scale`."""
        return self.parameters["scale"] ** 2

    def _standard(self, y: np.ndarray) -> np.ndarray:
        return (y - self.parameters["mean"]) / self.parameters["scale"]

    def component_log_density(self, y: np.ndarray) -> np.ndarray:
        """-z^2 / 2 - log scale - log(2 π) / 2."""
        z = self._standard(y)
        return -0.5 * z * z - np.log(self.parameters["scale"]) - 0.5 * math.log(2.0 * math.pi)

    def component_cdf(self, y: np.ndarray) -> np.ndarray:
        """Φ(z)."""
        return special.ndtr(self._standard(y))

    def quantile_bracket(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Extremes of mean + scale Φ^-1(level)."""
        ends = self.parameters["mean"] + self.parameters["scale"] * special.ndtri(level)
        return ends.min(axis=0), ends.max(axis=0)

    def component_sample(self, rng: np.random.Generator) -> np.ndarray:
        """Normal noise around the mean."""
        return rng.normal(self.parameters["mean"], self.parameters["scale"])

    def block_crps(self, y: np.ndarray) -> np.ndarray:
        """See `crps_normal`."""
        return crps_normal(self.parameters["mean"], self.parameters["scale"], y)


class StudentTMixture(PredictiveMixture):
    """Every draw predicts a Student-t distribution.

    With `freedom` of at most 2 the variance is infinite, and `aleatoric` and `std` are `inf`; of at
    most 1 there is no mean, and `mean`, `epistemic` and `crps` are NaN. CRPS is by quadrature;
    see `crps_student_t` for its error.

    Args:
      location: (draws, rows, targets).
      scale: Positive; of the same shape or one that NumPy broadcasts to it. Not the standard
        deviation, which is scale √(freedom / (freedom - 2)).
      freedom: Degrees of freedom, positive; of the same shape or one that broadcasts to it.

    Example:
      >>> mixture = StudentTMixture([[[0.0]], [[2.0]]], scale=1.0, freedom=4.0)
      >>> mixture.aleatoric(), mixture.epistemic()
      (array([[2.]]), array([[1.]]))
      >>> StudentTMixture([[[0.0]]], scale=1.0, freedom=2.0).std()
      array([[inf]])
    """

    def __init__(self, location: Any, scale: Any, freedom: Any):
        super().__init__(location=location, scale=scale, freedom=freedom)
        require("scale", self.parameters["scale"], above=0.0)
        require("freedom", self.parameters["freedom"], above=0.0)

    def component_mean(self) -> np.ndarray:
        """The location; NaN with a freedom of at most 1."""
        return np.where(self.parameters["freedom"] > 1.0, self.parameters["location"], np.nan)

    def component_variance(self) -> np.ndarray:
        """scale^2 freedom / (freedom - 2); infinite with a freedom of at most 2."""
        freedom = self.parameters["freedom"]
        finite = freedom > 2.0
        ratio = np.divide(freedom, freedom - 2.0, out=np.full_like(freedom, np.inf), where=finite)
        return self.parameters["scale"] ** 2 * ratio

    def _standard(self, y: np.ndarray) -> np.ndarray:
        return (y - self.parameters["location"]) / self.parameters["scale"]

    def component_log_density(self, y: np.ndarray) -> np.ndarray:
        """Of Student-t, by its logarithm of gamma functions."""
        freedom, z = self.parameters["freedom"], self._standard(y)
        constant = special.gammaln(0.5 * (freedom + 1.0)) - special.gammaln(0.5 * freedom)
        tail = 0.5 * (freedom + 1.0) * np.log1p(z * z / freedom)
        return constant - tail - 0.5 * np.log(math.pi * freedom) - np.log(self.parameters["scale"])

    def component_cdf(self, y: np.ndarray) -> np.ndarray:
        """Of Student-t."""
        return special.stdtr(self.parameters["freedom"], self._standard(y))

    def quantile_bracket(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Extremes of location + scale t^-1(level)."""
        freedom, index = np.unique(self.parameters["freedom"], return_inverse=True)
        t = special.stdtrit(freedom, level)[index]  # slow, and most draws share their freedom
        ends = self.parameters["location"] + self.parameters["scale"] * t
        return ends.min(axis=0), ends.max(axis=0)

    def component_sample(self, rng: np.random.Generator) -> np.ndarray:
        """Student-t noise around the location."""
        noise = rng.standard_t(self.parameters["freedom"])
        return self.parameters["location"] + self.parameters["scale"] * noise

    def block_crps(self, y: np.ndarray) -> np.ndarray:
        """See `crps_student_t`."""
        parameters = self.parameters
        return crps_student_t(parameters["location"], parameters["scale"], parameters["freedom"], y)


class PoissonMixture(PredictiveMixture):
    """Every draw predicts a Poisson distribution of a count.

    A quantile is the smallest count whose cumulative probability reaches the level. CRPS is a sum
    over counts, exact to rounding; its time grows with the range of likely counts.

    Args:
      rate: (draws, rows, targets), mean of the count, at least 0.

    Example:
      >>> mixture = PoissonMixture([[[1.0]], [[3.0]]])
      >>> mixture.mean(), mixture.aleatoric(), mixture.epistemic()
      (array([[2.]]), array([[2.]]), array([[1.]]))
      >>> mixture.quantile(0.9)
      array([[4.]])
    """

    counting = True

    def __init__(self, rate: Any):
        super().__init__(rate=rate)
        require("rate", self.parameters["rate"], at_least=0.0)

    def check_support(self, y: np.ndarray) -> np.ndarray:
        """Return `y` if it holds counts."""
        wrong = np.argwhere((y < 0.0) | (y != np.floor(y)))
        if len(wrong):
            row, target = wrong[0]
            raise UserError(
                f"`y` must hold counts (0, 1, 2, ...), got {y[row, target]:g} in row {row}; a "
                f"quantity that is not counted needs another likelihood."
            )
        return y

    def component_mean(self) -> np.ndarray:
        """The rate."""
        return self.parameters["rate"]

    def component_variance(self) -> np.ndarray:
        """The rate."""
        return self.parameters["rate"]

    def component_log_density(self, y: np.ndarray) -> np.ndarray:
        """Log probability of the count, y log rate - rate - log y!."""
        rate = self.parameters["rate"]
        return special.xlogy(y, rate) - rate - special.gammaln(y + 1.0)

    def component_cdf(self, y: np.ndarray) -> np.ndarray:
        """Of Poisson counts; 0 below 0."""
        return np.where(y < 0.0, 0.0, special.pdtr(np.maximum(y, 0.0), self.parameters["rate"]))

    def quantile_bracket(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Quantiles of the smallest and the largest rate, between which all others lie."""
        from scipy.stats import poisson  # half a second that other likelihoods do not wait for

        rate = self.parameters["rate"]
        low, high = (poisson.ppf(level, r) for r in (rate.min(axis=0), rate.max(axis=0)))
        return np.maximum(low, 0.0), np.maximum(high, 0.0)

    def solve(self, cdf: Cdf, level: float, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Find the smallest count at which `cdf` reaches `level`."""
        return invert_counting_cdf(cdf, level, low, high)

    def component_sample(self, rng: np.random.Generator) -> np.ndarray:
        """Counts, as floats like all samples."""
        return rng.poisson(self.parameters["rate"]).astype(np.float64)

    def block_crps(self, y: np.ndarray) -> np.ndarray:
        """See `crps_poisson`."""
        return crps_poisson(self.parameters["rate"], y)
