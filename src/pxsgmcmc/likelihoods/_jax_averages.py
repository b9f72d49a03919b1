"""Averages over draws in JAX and float32, for predictors that are exported without this package.

The same numbers as `pxsgmcmc.metrics.mixtures` has in NumPy and float64. Results are by row first:
(rows, targets), quantiles (rows, levels, targets).
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betainc, gammaincc, logsumexp, ndtr
from scipy import special

from pxsgmcmc.types import Array

_HALVINGS = 48  # of a bracket: more than a float32 has bits to lose


def class_averages(logits: Array) -> dict[str, Array]:
    """Probabilities, entropy and its two parts in nats, from (draws, rows, classes)."""
    log_p = jax.nn.log_softmax(logits)
    p = jnp.exp(log_p)
    log_mean = logsumexp(log_p, axis=0) - np.float32(np.log(logits.shape[0]))
    mean = jnp.exp(log_mean)
    # The mean divergence of a draw from the average: the difference of entropies would cancel.
    epistemic = jnp.maximum(jnp.mean(jnp.sum(p * (log_p - log_mean[None]), axis=2), axis=0), 0.0)
    return {
        "probabilities": mean,
        "entropy": -jnp.sum(mean * log_mean, axis=1),
        "aleatoric": -jnp.mean(jnp.sum(p * log_p, axis=2), axis=0),
        "epistemic": epistemic,
    }


def spread(means: Array, variances: Array) -> dict[str, Array]:
    """Mean, standard deviation and the two parts of the variance, from (draws, rows, targets)."""
    mean, aleatoric = jnp.mean(means, axis=0), jnp.mean(variances, axis=0)
    epistemic = jnp.mean((means - mean[None]) ** 2, axis=0)
    return {
        "mean": mean,
        "std": jnp.sqrt(aleatoric + epistemic),
        "aleatoric": aleatoric,
        "epistemic": epistemic,
    }


def location_scale_averages(
    location: Array, scale: Array, freedom: float | None, levels: Sequence[float]
) -> dict[str, Array]:
    """Of normal or Student-t draws, each (draws, rows, targets)."""
    inflation = 1.0 if freedom is None else freedom / (freedom - 2.0) if freedom > 2.0 else np.inf
    has_mean = freedom is None or freedom > 1.0
    means = location if has_mean else jnp.full_like(location, np.nan)
    quantile = special.ndtri if freedom is None else lambda q: special.stdtrit(freedom, q)

    def one_level(level: tuple[Array, Array, Array]) -> Array:
        # From the nearer end, where a probability keeps its digits: `side` turns the line around.
        tail, side, standard = level
        ends = location + scale * standard

        def below(x: Array) -> Array:
            z = side * (x[None] - location) / scale
            beyond = jnp.mean(_lower_tail(z, freedom), axis=0)
            return jnp.where(side > 0, beyond < tail, beyond > tail)

        return _halve(below, jnp.min(ends, axis=0), jnp.max(ends, axis=0))

    q = np.asarray(levels, np.float64)
    table = (np.minimum(q, 1.0 - q), np.where(q <= 0.5, 1.0, -1.0), quantile(q))
    return {
        **spread(means, scale**2 * np.float32(inflation)),
        **_by_row(one_level, *table),
    }


def poisson_averages(log_rate: Array, levels: Sequence[float]) -> dict[str, Array]:
    """Of Poisson draws, (draws, rows, targets); a quantile is the smallest count to reach it."""
    rate = jnp.exp(log_rate)

    def one_level(level: tuple[Array, Array]) -> Array:
        q, exponent = level

        def below(count: Array) -> Array:
            k = jnp.floor(count)[None]
            return jnp.mean(gammaincc(jnp.broadcast_to(k + 1.0, rate.shape), rate), axis=0) < q

        # Bernstein's bound on the upper tail, and one more.
        largest = jnp.max(rate, axis=0)
        high = largest + exponent / 3.0 + jnp.sqrt(exponent**2 / 9.0 + 2.0 * largest * exponent)
        turn = _halve(below, jnp.full_like(high, -1.0), high + 1.0)
        return jnp.maximum(jnp.round(turn), 0.0)  # it turns at a whole number, up to rounding

    q = np.asarray(levels, np.float64)
    return {**spread(rate, rate), **_by_row(one_level, q, -np.log1p(-q))}


def _by_row(one_level: Callable[[Any], Array], *table: np.ndarray) -> dict[str, Array]:
    """All levels one after the other, (rows, levels, targets); nothing if there are none."""
    if not len(table[0]):
        return {}
    by_level = jax.lax.map(one_level, tuple(jnp.asarray(column, jnp.float32) for column in table))
    return {"quantiles": jnp.swapaxes(by_level, 0, 1)}


def _halve(below: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Where `below` turns from true to false, between `low` and `high`."""

    def step(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = low + 0.5 * (high - low)
        lower = below(middle)
        return jnp.where(lower, middle, low), jnp.where(lower, high, middle)

    low, high = jax.lax.fori_loop(0, _HALVINGS, step, (low, high))
    return low + 0.5 * (high - low)


def _lower_tail(z: Array, freedom: float | None) -> Array:
    """Probability of less than z standard units."""
    if freedom is None:
        return ndtr(z)
    v = jnp.asarray(freedom, z.dtype)
    outside = 0.5 * betainc(0.5 * v, jnp.asarray(0.5, z.dtype), v / (v + z * z))
    return jnp.where(z < 0.0, outside, 1.0 - outside)
