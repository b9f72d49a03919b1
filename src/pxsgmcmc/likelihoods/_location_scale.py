"""Targets that scatter around a location: what normal and Student-t noise have in common.

The network gives a location m for each target, on a scale where targets are near 0 and 1; the noise
scale s is given, sampled along, or given by the network for each input. With units (a, b) of the
targets, y = a + b (m + s e), where e is standard normal, or Student-t with v degrees of freedom.
A row of the distribution is the locations of all targets, then their log scales.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from pxsgmcmc.data.check import check_targets
from pxsgmcmc.errors import UserError
from pxsgmcmc.likelihoods._jax_averages import location_scale_averages
from pxsgmcmc.likelihoods._mixture_prediction import MixtureCollector, MixturePrediction
from pxsgmcmc.metrics._metric_sums import MetricSums, regression_sums
from pxsgmcmc.metrics._windows import Windows
from pxsgmcmc.metrics.mixtures import NormalMixture, StudentTMixture
from pxsgmcmc.metrics.regression import measure_regression_windows
from pxsgmcmc.tree import widen
from pxsgmcmc.types import Array, Tree

Noise = float | Literal["learned", "network"]


@dataclass(frozen=True)
class LocationScale:
    """Made by `gaussian` and `student_t`.

    Attributes:
      noise: the scale of the noise in the network's units; "learned" samples its logarithm along
        with the network, one number for all inputs and targets; "network" takes the logarithm from
        the network, which then gives twice as many outputs, locations first.
      freedom: degrees of freedom; None is normal noise.
      noise_start: where a learned scale begins.
      noise_spread: standard deviation of the normal prior on the logarithm of a learned scale,
        around that of `noise_start`.
      units: (mean, standard deviation) that turn the network's numbers into targets.
      noise_floor: added to a scale that is learned or given by the network, as independent noise
        would be: s^2 = floor^2 + exp(2 log scale).
    """

    noise: Noise
    freedom: float | None = None
    noise_start: float = 1.0
    noise_spread: float = 1.0
    units: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    noise_floor: float = 0.0
    task = "regression"
    headline = ("rmse", "nll", "crps", "coverage90", "width90", "mae")

    @property
    def name(self) -> str:
        """As one would type it."""
        if self.freedom is None and self.noise_floor:
            return f"gaussian(noise={self.noise!r}, noise_floor={self.noise_floor:g})"
        if self.freedom is None:
            return f"gaussian(noise={self.noise!r})"
        return f"student_t(noise={self.noise!r}, freedom={self.freedom:g})"

    def outputs(self, targets: int) -> int:
        """A location for each target, and a log scale if the network gives it."""
        return 2 * targets if self.noise == "network" else targets

    def start(self) -> Mapping[str, Array]:
        """The log scale, if it is sampled."""
        if self.noise != "learned":
            return {}
        return {"log_noise": jnp.asarray(math.log(self.noise_start), float)}

    def energy(self, own: Tree) -> Array:
        """Normal prior on the log scale."""
        if self.noise != "learned":
            return jnp.zeros((), float)
        z = (widen(own["log_noise"]) - math.log(self.noise_start)) / self.noise_spread
        return 0.5 * z**2

    def check_targets(self, y: Any, names: tuple[str, ...], where: str) -> np.ndarray:
        """Numbers, (rows, targets)."""
        return check_targets(y, where)

    def distribution(self, outputs: Array, own: Tree, targets: int) -> Array:
        """Locations, then log scales, in the targets' own units."""
        outputs = widen(outputs[:, None] if outputs.ndim == 1 else outputs)
        expected = self.outputs(targets)
        if outputs.ndim != 2 or outputs.shape[1] != expected:
            what = "means, then log scales" if self.noise == "network" else "one mean a target"
            raise UserError(
                f"`apply` must give outputs of shape (batch, {expected}), {what}, got "
                f"{outputs.shape}."
            )
        location = outputs[:, :targets]
        if self.noise == "network":
            log_scale = outputs[:, targets:]
        elif self.noise == "learned":
            log_scale = jnp.broadcast_to(widen(own["log_noise"]), location.shape)
        else:
            log_scale = jnp.full_like(location, math.log(self.noise))
        if self.noise_floor:
            log_scale = 0.5 * jnp.logaddexp(2.0 * log_scale, 2.0 * math.log(self.noise_floor))
        if self.units is not None:
            mean, std = (jnp.asarray(part, location.dtype).reshape(1, -1) for part in self.units)
            location, log_scale = mean + std * location, log_scale + jnp.log(std)
        return jnp.concatenate([location, log_scale], axis=1)

    def log_prob(self, distribution: Array, y: Array) -> Array:
        """Summed over targets, (batch,)."""
        location, log_scale = jnp.split(distribution, 2, axis=1)
        z = (widen(y).reshape(location.shape) - location) * jnp.exp(-log_scale)
        if self.freedom is None:
            density = -0.5 * z**2 - 0.5 * math.log(2.0 * math.pi)
        else:
            v = jnp.asarray(self.freedom, z.dtype)
            density = gammaln((v + 1.0) / 2.0) - gammaln(v / 2.0) - 0.5 * jnp.log(v * math.pi)
            density = density - (v + 1.0) / 2.0 * jnp.log1p(z**2 / v)
        return jnp.sum(density - log_scale, axis=1)

    def mixture(self, distributions: np.ndarray) -> NormalMixture | StudentTMixture:
        """(draws, rows, numbers) as the mixture that is predicted."""
        location, log_scale = np.split(np.asarray(distributions, np.float64), 2, axis=-1)
        if self.freedom is None:
            return NormalMixture(location, np.exp(log_scale))
        return StudentTMixture(location, np.exp(log_scale), self.freedom)

    def collector(self, rows: int) -> MixtureCollector:
        """Keeps every draw's rows: quantiles need them all."""
        return MixtureCollector(rows, lambda kept: MixturePrediction(self.mixture(kept)))

    def average(self, distributions: Array, levels: tuple[float, ...]) -> dict[str, Array]:
        """Mean, standard deviation, the two parts of the variance, quantiles."""
        location, log_scale = jnp.split(distributions, 2, axis=2)
        return location_scale_averages(location, jnp.exp(log_scale), self.freedom, levels)

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
        """Standard deviation of the draws' locations, averaged over targets."""
        locations = np.split(np.asarray(distributions, np.float64), 2, axis=-1)[0]
        return locations.std(axis=0).mean(axis=-1)

    def followed(self, distributions: np.ndarray) -> np.ndarray:
        """Locations."""
        return np.split(np.asarray(distributions, np.float64), 2, axis=-1)[0]

    def simulate(self, distribution: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Targets drawn from the distribution, (rows, targets)."""
        location, log_scale = np.split(np.asarray(distribution, np.float64), 2, axis=-1)
        shape, v = location.shape, self.freedom
        noise = rng.standard_normal(shape) if v is None else rng.standard_t(v, shape)
        return location + np.exp(log_scale) * noise

    def error(self, distribution: np.ndarray, y: np.ndarray) -> float:
        """Root of the mean squared error."""
        location = np.split(np.asarray(distribution, np.float64), 2, axis=-1)[0]
        return float(np.sqrt(np.mean((location - y.reshape(location.shape)) ** 2)))


def check_noise(noise: Any, name: str = "noise") -> Noise:
    """Return `noise` if it is a positive number, "learned" or "network"."""
    if noise in ("learned", "network"):
        return noise
    number = isinstance(noise, int | float) and not isinstance(noise, bool)
    if not number or not math.isfinite(noise) or noise <= 0.0:
        raise UserError(
            f"`{name}` must be a positive number, 'learned' or 'network', got {noise!r}."
        )
    return float(noise)
