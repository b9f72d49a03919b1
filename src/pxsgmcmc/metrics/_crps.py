"""Continuous ranked probability score of mixtures with equal weights, draws on the first axis.

With F the cumulative distribution of the mixture, X and X' independent draws from it,

    CRPS = integral of (F(x) - [x >= y])^2 dx = E|X - y| - E|X - X'| / 2

in the units of y; for one certain prediction it is the absolute error (Gneiting and Raftery, 2007).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

_MOST_HALVINGS = 9  # of the quadrature's spacing: up to about 2^14 nodes
_TOLERANCE = 1e-7  # relative change at which it stops: each halving about squares the error
_TAIL = 1e-13  # probability left out on each side of the sum over counts
_COUNTS = 64  # whose probabilities come of one another, before they are computed afresh


def _absolute_normal(mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """E|Z| for Z normal with this mean and standard deviation."""
    z = mean / scale
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return 2.0 * scale * density + mean * special.erf(z / math.sqrt(2.0))


def crps_normal(mean: np.ndarray, scale: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of a mixture of normals: closed form over all pairs of draws (Grimit et al., 2006).

    Time grows with the square of the number of draws, memory does not.

    Args:
      mean: (draws, ...).
      scale: (draws, ...) standard deviations.
      y: (...) what was observed.

    Example:
      >>> crps_normal(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1)).round(6)  # (√2 - 1) / √π
      array([0.233695])
    """
    draws = len(mean)
    error = _absolute_normal(y - mean, scale).mean(axis=0)
    variance = scale * scale
    spread = (2.0 / math.sqrt(math.pi)) * scale.sum(axis=0)  # a draw paired with itself
    for first in range(draws - 1):
        rest = slice(first + 1, None)
        pair_scale = np.sqrt(variance[first] + variance[rest])
        spread += 2.0 * _absolute_normal(mean[first] - mean[rest], pair_scale).sum(axis=0)
    return error - 0.5 * spread / draws**2


def crps_student_t(
    location: np.ndarray, scale: np.ndarray, freedom: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Of a mixture of Student-t: E|X - y| in closed form, the other term by quadrature.

    E|X - X'| / 2 is the integral of F (1 - F), taken by the trapezoidal rule after
    x = sinh(π/2 sinh t) (Takahasi and Mori, 1974). Its spacing is halved until the value moves by
    less than 1e-7 of itself, at most 9 times. The error is below 1e-9 of the value, unless draws
    lie more than 1,000 scales apart (then about 1e-5) or have a freedom below 1.1 (about 1e-6 at
    1.05). NaN where a freedom is at most 1.

    Args:
      location: (draws, ...).
      scale: (draws, ...).
      freedom: (draws, ...).
      y: (...) what was observed.

    Example:
      >>> one = np.ones((1, 1))
      >>> crps_student_t(0 * one, one, 5 * one, np.zeros(1)).round(6)
      array([0.257025])
    """
    exists = (freedom > 1.0).all(axis=0)
    safe = np.where(exists, freedom, 2.0)
    z = (y - location) / scale
    below = special.stdtr(safe, z)
    log_density = (
        special.gammaln(0.5 * (safe + 1.0))
        - special.gammaln(0.5 * safe)
        - 0.5 * np.log(math.pi * safe)
        - 0.5 * (safe + 1.0) * np.log1p(z * z / safe)
    )
    reach = (safe + z * z) / (safe - 1.0)
    error = (scale * (z * (2.0 * below - 1.0) + 2.0 * reach * np.exp(log_density))).mean(axis=0)
    flat = [a.reshape(len(a), -1) for a in (location, scale, safe)]
    result = error - _half_spread(*flat).reshape(error.shape)
    return np.where(exists, result, np.nan)


def _half_spread(location: np.ndarray, scale: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """Integral of F (1 - F) of Student-t mixtures, (draws, entries) -> (entries,)."""
    centre = location.mean(axis=0)
    width = np.sqrt((scale**2).mean(axis=0) + location.var(axis=0))
    # Tails fall as x^-freedom: the smallest one says where they end. No draw's own scale, nor its
    # distance from the centre, is above `width` times the root of their number.
    reach = 1.0 + 0.5 * math.log10(len(location))
    # Beyond 10^150 a square overflows.
    decades = np.minimum(reach + 12.0 / (freedom.min(axis=0) - 1.0), 150.0)
    end = np.arcsinh((2.0 / math.pi) * (decades * math.log(10.0) + math.log(2.0)))

    def sums(nodes: np.ndarray, entries: np.ndarray) -> np.ndarray:
        """Sum over the nodes, which are shares of `end`, for these entries."""
        total = np.zeros(entries.size)
        for node in nodes:
            t = node * end[entries]
            inner = 0.5 * math.pi * np.sinh(t)
            x = centre[entries] + width[entries] * np.sinh(inner)
            z = (x - location[:, entries]) / scale[:, entries]
            tail = special.stdtr(freedom[:, entries], -np.abs(z))  # the smaller side keeps digits
            below = np.where(z < 0.0, tail, 1.0 - tail).mean(axis=0)
            above = np.where(z < 0.0, 1.0 - tail, tail).mean(axis=0)
            total += below * above * 0.5 * math.pi * np.cosh(t) * np.cosh(inner)
        return total * width[entries] * end[entries]

    entries = np.arange(location.shape[1])
    spacing = 1.0 / 16.0
    value = spacing * sums(np.arange(-16, 17) * spacing, entries)
    for _ in range(_MOST_HALVINGS):
        between = np.arange(-1.0 + 0.5 * spacing, 1.0, spacing)
        refined = 0.5 * value[entries] + 0.5 * spacing * sums(between, entries)
        moved = np.abs(refined - value[entries]) > _TOLERANCE * refined
        value[entries] = refined
        spacing *= 0.5
        entries = entries[moved]
        if not entries.size:
            break
    return value


def crps_poisson(rate: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of a mixture of Poisson counts: the sum over k of (F(k) - [k >= y])^2.

    Where F is within 1e-13 of 0 or 1 it counts as 0 or 1, which changes less than rounding does.

    Args:
      rate: (draws, ...) means of the counts.
      y: (...) observed counts.

    Example:
      >>> crps_poisson(np.full((1, 1), 3.0), np.array([2.0])).round(6)
      array([0.541744])
    """
    from scipy.stats import poisson  # half a second that other likelihoods do not wait for

    shape, rate, y = y.shape, rate.reshape(len(rate), -1), y.reshape(-1)
    start = np.maximum(poisson.ppf(_TAIL, rate.min(axis=0)), 0.0)
    stop = poisson.ppf(1.0 - _TAIL, rate.max(axis=0)) + 1.0
    # Outside [start, stop) F is 0 or 1, so that every count between there and y costs 1.
    result = np.maximum(start - y, 0.0) + np.maximum(y - stop, 0.0)
    entries = np.flatnonzero(start < stop)
    while entries.size:
        inputs = (rate[:, entries], y[entries], start[entries], stop[entries])
        result[entries] += _some_counts(*inputs)
        start += _COUNTS
        entries = entries[start[entries] < stop[entries]]
    return result.reshape(shape)


def _some_counts(
    rate: np.ndarray, y: np.ndarray, start: np.ndarray, stop: np.ndarray
) -> np.ndarray:
    """Terms of at most `_COUNTS` counts from `start` on; p(k + 1) = p(k) rate / (k + 1)."""
    k = start.copy()
    below = special.pdtr(k, rate)
    probability = np.exp(special.xlogy(k, rate) - rate - special.gammaln(k + 1.0))
    total = np.zeros_like(y)
    for _ in range(_COUNTS):
        gap = below.mean(axis=0) - (k >= y)
        total += np.where(k < stop, gap * gap, 0.0)
        k += 1.0
        probability *= rate / k
        below += probability
    return total
