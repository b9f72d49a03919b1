"""Curvatures of an energy by Lanczos' method, from differences of its gradient.

A product of the Hessian H with a unit vector v is taken from two gradients,

    H v = (dU(q + s v) - dU(q - s v)) / (2 s),      s = 0.1 / sqrt(largest curvature),

so hand-written gradients serve as they are and nothing but the gradient is compiled. s is a tenth
of the width of the posterior in the stiffest direction: the error of the difference falls as s^2
and that of rounding grows as 1/s; `Curvatures.error` says how much s matters.

Started at v, Lanczos' m steps give curvatures and weights with which any f(H), up to a polynomial
of degree 2m - 1, has the exact v' f(H) v: a `Spectrum` of v. Started at random signs it estimates
the mean over coordinates, with an error that falls with their number.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pxsgmcmc.tuning.laws import Spectrum

# Before that, a start that has little of the stiffest direction may show the next one as if it were
# the stiffest.
FEWEST_STEPS = 12
Product = Callable[[np.ndarray], np.ndarray]  # v -> H v


class Ritz(NamedTuple):
    """What Lanczos' method found."""

    spectrum: Spectrum  # of the vector it started from
    largest: float  # curvature
    direction: np.ndarray  # unit vector of that curvature
    bound: float  # distance from `largest` to the nearest true curvature, at most


def lanczos(product: Product, start: np.ndarray, *, steps: int, tolerance: float = 0.0) -> Ritz:
    """Curvatures of a symmetric matrix that is known by its products.

    Args:
      product: v -> H v.
      start: vector to start from.
      steps: products at most.
      tolerance: stop when `largest` is known to this share of itself.

    Example:
      >>> lanczos(lambda v: np.array([1.0, 4.0]) * v, np.ones(2), steps=2).largest
      4.0
    """
    steps = min(steps, len(start))
    basis = np.zeros((steps, len(start)), start.dtype)
    diagonal, beside = np.zeros(steps), np.zeros(steps)
    basis[0] = start / np.linalg.norm(start)
    for j in range(steps):
        w = product(basis[j]).astype(start.dtype)
        diagonal[j] = np.vdot(w, basis[j])
        for _ in range(2):  # rounding brings back what was taken out, and a second time is enough
            w = w - basis[: j + 1].T @ (basis[: j + 1] @ w)
        beside[j] = np.linalg.norm(w)
        off = beside[:j]
        values, vectors = np.linalg.eigh(
            np.diag(diagonal[: j + 1]) + np.diag(off, 1) + np.diag(off, -1)
        )
        bound = beside[j] * abs(vectors[-1, -1])
        scale = np.abs(values).max()
        known = j + 1 >= FEWEST_STEPS and bound <= tolerance * abs(values[-1])
        if known or beside[j] <= 1e-6 * scale or j + 1 == steps:
            direction = basis[: j + 1].T @ vectors[:, -1]
            spectrum = Spectrum(values, vectors[0] ** 2)
            return Ritz(spectrum, float(values[-1]), direction, float(bound))
        basis[j + 1] = w / beside[j]
    raise AssertionError("`steps` is at least 1")


class Hessian:
    """Products with the Hessian of an energy at a position, over all of its rows.

    Args:
      gradient: of the energy, from a vector to a vector of as many coordinates.
      position: (coordinates,) where the Hessian is taken.
      stride: length s of a difference.

    Example:
      >>> H = Hessian(lambda q: 3.0 * q, np.zeros(2), stride=0.1)
      >>> np.round(H.product(np.array([0.0, 1.0])), 6).tolist()
      [0.0, 3.0]
    """

    def __init__(self, gradient: Product, position: np.ndarray, stride: float = 1e-2):
        self.gradient, self.position, self.stride = gradient, position, stride

    def product(self, v: np.ndarray) -> np.ndarray:
        """H v."""
        length = np.linalg.norm(v)
        if length == 0.0:
            return np.zeros_like(v)
        s = np.asarray(self.stride / length, self.position.dtype)
        ahead, behind = self.gradient(self.position + s * v), self.gradient(self.position - s * v)
        return (ahead - behind) / (2.0 * s)

    def within(self, places: slice | np.ndarray) -> Product:
        """Products with the block of the Hessian that belongs to some coordinates."""

        def product(v: np.ndarray) -> np.ndarray:
            whole = np.zeros_like(self.position)
            whole[places] = v
            return self.product(whole)[places]

        return product

    def fit_stride(self, start: np.ndarray) -> None:
        """Choose the stride by the largest curvature, which a few products find well enough."""
        for steps in (2, 3):  # a first stride that is far too long shows too little curvature
            largest = lanczos(self.product, start, steps=steps).largest
            if largest > 0.0:
                self.stride = 0.1 / float(np.sqrt(largest))

    def error(self, direction: np.ndarray, curvature: float) -> float:
        """Share by which a curvature changes if the stride is doubled."""
        if curvature == 0.0:
            return 0.0
        twice = Hessian(self.gradient, self.position, 2.0 * self.stride)
        change = float(np.vdot(direction, twice.product(direction))) - curvature
        return abs(change / curvature)


def random_signs(rng: np.random.Generator, like: np.ndarray) -> np.ndarray:
    """A vector of independent signs, whose square is 1 in every coordinate."""
    return rng.choice(np.array([-1.0, 1.0], like.dtype), like.shape)
