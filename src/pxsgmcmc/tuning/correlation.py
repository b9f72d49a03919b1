"""How long the samplers remember, on a quadratic energy, and what that leaves of shuffled noise.

A step of SGHMC on (position q, momentum m) of a direction of curvature c is linear, with the matrix

    A = [[1 - h^2 c, h (1 - h g)],
         [-h c,      1 - h g    ]],

and correlations at lag j are entries of A^j times the stationary covariance. A step of SGLD is
multiplication by 1 - h c.
"""

import math
from collections.abc import Callable

import numpy as np


def sgld_autocorrelation(curvature: float, step_size: float) -> float:
    """Integrated autocorrelation time of the position, in steps.

    Example:
      >>> round(sgld_autocorrelation(1.0, 0.1))
      19
    """
    if curvature <= 0.0:
        return math.inf
    return (2.0 - step_size * curvature) / (step_size * curvature)


def sghmc_relaxation(curvature: float, step_size: float, friction: float) -> float:
    """Steps in which the slower of a direction's two modes shrinks by e.

    The integrated autocorrelation time of an oscillating position is short however long it
    oscillates, so it would recommend no friction at all; this time does not.

    Example:
      >>> round(sghmc_relaxation(4.0, 0.01, friction=1.0)), 2 / 0.01
      (199, 200.0)
    """
    if curvature <= 0.0:
        return math.inf
    first, second = _modes(np.array([curvature]), step_size, friction)
    slowest = max(abs(first[0]), abs(second[0]))
    return -1.0 / math.log(slowest) if 0.0 < slowest < 1.0 else math.inf


def sghmc_autocorrelation(curvature: float, step_size: float, friction: float) -> float:
    """Integrated autocorrelation time of the position, in steps.

    Example:
      >>> round(sghmc_autocorrelation(1.0, 0.01, friction=100.0)), 2 * 100 / 0.01
      (19999, 20000.0)
    """
    if curvature <= 0.0:
        return math.inf
    c, h, g = np.array([curvature]), step_size, friction
    _, of_position = _correlated(c, h, g, lambda r: r / (1.0 - r))
    return float(1.0 + 2.0 * of_position[0])


def sghmc_noise_left(
    c: np.ndarray, h: float, g: float, batches: float
) -> tuple[np.ndarray, np.ndarray]:
    """Share k of the heat of gradient noise that shuffling leaves, (of momentum, of position).

    Args:
      c: (nodes,) curvatures.
      h: step size.
      g: friction.
      batches: to an epoch; infinite where batches are drawn independently.
    """
    if not 1.0 < batches < math.inf:
        return np.ones_like(c), np.ones_like(c)
    of_momentum, of_position = _correlated(c, h, g, lambda r: _triangle(r, batches))
    factor = 2.0 / (batches - 1.0)
    return 1.0 - factor * of_momentum, 1.0 - factor * of_position


def sgld_noise_left(c: np.ndarray, h: float, batches: float) -> np.ndarray:
    """Share k of the heat of gradient noise that shuffling leaves; arguments as for SGHMC."""
    if not 1.0 < batches < math.inf:
        return np.ones_like(c)
    r = (1.0 - h * c).astype(complex)
    return 1.0 - 2.0 / (batches - 1.0) * np.real(_triangle(r, batches))


def _modes(c: np.ndarray, h: float, g: float) -> tuple[np.ndarray, np.ndarray]:
    """The two eigenvalues of a step of SGHMC on (q, m), complex and kept apart."""
    half = (2.0 - h * g - h**2 * c) / 2.0
    square = half**2 - (1.0 - h * g)
    square = np.where(np.abs(square) < 1e-12, 1e-12, square)  # a double one has no eigenbasis
    root = np.sqrt(square.astype(complex))
    return half + root, half - root


def _correlated(
    c: np.ndarray, h: float, g: float, f: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The sum f(r) of powers of one mode turned into that of correlations of (momentum, position).

    The correlations at lag j are entries of A^j S, where A is a step on (q, m) and S its stationary
    covariance in white noise; f(A) is a combination of A and the identity.
    """
    first, second = _modes(c, h, g)
    slope = (f(first) - f(second)) / (first - second)
    level = f(first) - slope * first
    of_momentum = level + slope * (1.0 - h * g - h**2 * c / 2.0)
    from_momentum = h**2 * c / 2.0 * (1.0 - h * g) / (1.0 - h * g / 2.0)
    of_position = level + slope * (1.0 - h**2 * c + from_momentum)
    return np.real(of_momentum), np.real(of_position)


def _triangle(r: np.ndarray, K: float) -> np.ndarray:
    """The sum over j from 1 to K - 1 of (1 - j / K) r^j."""
    apart = 1.0 - r
    near = np.abs(apart) * K < 1e-4  # where the terms below would cancel
    safe = np.where(near, 1.0, apart)
    exact = r / safe - r * (1.0 - r**K) / (K * safe**2)
    return np.where(near, (K - 1.0) / 2.0 * (1.0 - apart * (K + 1.0) / 3.0), exact)
