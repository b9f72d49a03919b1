"""Toy problems drawn from a formula: a mixture of 25 Gaussians, two moons, a noisy sinusoid.

The mixture is a target to sample, the other two are data to fit. Equal weights on the square grid
of means {-4, -2, 0, 2, 4}^2, each component with covariance 0.03 I:

    log p(y) = log sum_k exp(-|y - mu_k|^2 / 0.06) - log 25 - log(2 pi 0.03)

Neighbouring modes are 2 apart, so a chain must climb 1 / 0.06 - log 2 = 15.97 nats between them.
"""

import hashlib
import math

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.data._fingerprint import fingerprint
from pxsgmcmc.data.dataset import Dataset, Split
from pxsgmcmc.data.standardise import identity
from pxsgmcmc.errors import check_count, check_number
from pxsgmcmc.types import Array, Key

MIXTURE_VARIANCE = 0.03


def mixture25_means() -> np.ndarray:
    """The 25 means, (25, 2), row by row from (-4, -4) to (4, 4).

    Example:
      >>> mixture25_means()[[0, 12, 24]].tolist()
      [[-4.0, -4.0], [0.0, 0.0], [4.0, 4.0]]
    """
    grid = np.array([-4.0, -2.0, 0.0, 2.0, 4.0])
    return np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(25, 2)


def mixture25_log_density(y: Array) -> Array:
    """Normalised log-density at `y` (..., 2), in the dtype of `y`.

    Example:
      >>> round(float(mixture25_log_density(jnp.zeros(2))), 4)
      -1.5502
    """
    means = jnp.asarray(mixture25_means(), y.dtype).reshape((1,) * (y.ndim - 1) + (25, 2))
    square_distance = jnp.sum((y[..., None, :] - means) ** 2, axis=-1)
    log_kernels = jax.nn.logsumexp(-square_distance / (2 * MIXTURE_VARIANCE), axis=-1)
    return log_kernels - math.log(25 * 2 * math.pi * MIXTURE_VARIANCE)


def mixture25_energy(y: Array) -> Array:
    """Minus the log-density: what a sampler goes down, in nats.

    Example:
      >>> barrier = mixture25_energy(jnp.array([1.0, 0.0])) - mixture25_energy(jnp.zeros(2))
      >>> round(float(barrier), 2)
      15.97
    """
    return -mixture25_log_density(y)


def mixture25_draws(key: Key, count: int) -> Array:
    """Independent draws of the mixture, (count, 2): the reference that a chain is held to.

    Example:
      >>> mixture25_draws(jax.random.key(0), 3).shape
      (3, 2)
    """
    component_key, noise_key = jax.random.split(key)
    component = jax.random.randint(component_key, (count,), 0, 25)
    noise = jax.random.normal(noise_key, (count, 2))
    return jnp.asarray(mixture25_means(), noise.dtype)[component] + MIXTURE_VARIANCE**0.5 * noise


def two_moons(count: int = 1000, *, noise: float = 0.2, seed: int = 0) -> Dataset:
    """Two interleaved half circles with Gaussian noise, as many points in each.

    Splits hold 60, 20 and 20 percent of `count` points, each in random order.

    Example:
      >>> data = two_moons(count=100)
      >>> data.splits["train"].x.shape, data.splits["train"].y[:5].dtype.name
      ((60, 2), 'int32')
    """
    check_count("count", count, at_least=10)
    check_number("noise", noise, at_least=0.0)
    rng = _generator("two-moons", seed)
    label = np.arange(count, dtype=np.int32) % 2
    angle = np.pi * rng.random(count)
    # The lower moon is the upper one turned by half a circle about (1/2, 1/4).
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    x = np.where(label[:, None] == 0, upper, [1.0, 0.5] - upper)
    x = x + noise * rng.standard_normal((count, 2))
    order = rng.permutation(count)
    splits = _three_splits(x[order].astype(np.float32), label[order])
    return Dataset(
        name="two-moons",
        splits=splits,
        classes=("upper", "lower"),
        mean=(0.5, 0.25),
        std=(0.89, 0.53),
        sha256=fingerprint(splits),
    )


def sinusoid(count: int = 200, *, noise: float = 0.1, seed: int = 0) -> Dataset:
    """One curve, y = sin(2 pi x) + noise z, seen on [-1, -0.4] and [0.2, 1] and not between.

    Example:
      >>> sinusoid().splits["test"].y.shape
      (40, 1)
    """
    check_count("count", count, at_least=10)
    check_number("noise", noise, at_least=0.0)
    rng = _generator("sinusoid", seed)
    u = 1.4 * rng.random((count, 1))
    x = np.where(u < 0.6, u - 1.0, u - 0.4)
    y = np.sin(2 * np.pi * x) + noise * rng.standard_normal((count, 1))
    splits = _three_splits(x.astype(np.float32), y.astype(np.float32))
    return Dataset(
        name="sinusoid",
        splits=splits,
        classes=(),
        mean=(0.04,),
        std=(0.68,),
        sha256=fingerprint(splits),
        target_names=("y",),
        targets=identity(1),  # noise is stated in the units of y
    )


def _generator(name: str, seed: int) -> np.random.Generator:
    """A generator of its own for each toy, so that equal seeds do not give equal noise."""
    check_count("seed", seed)
    word = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
    return np.random.default_rng([word, seed])


def _three_splits(x: np.ndarray, y: np.ndarray) -> dict[str, Split]:
    first, second = len(x) * 3 // 5, len(x) * 4 // 5
    return {
        "train": Split(x[:first], y[:first]),
        "validation": Split(x[first:second], y[first:second]),
        "test": Split(x[second:], y[second:]),
    }
