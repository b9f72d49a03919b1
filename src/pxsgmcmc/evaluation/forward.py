"""A network on some rows, as a function of its parameters: compiled once, whatever the rows."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from pxsgmcmc.types import Array, Tree

BLOCK = 250  # rows at a time; larger ones are no faster on a CPU


def evenly(count: int, most: int) -> np.ndarray:
    """At most so many of `count` places, evenly spaced, first and last among them.

    Example:
      >>> evenly(9, 3).tolist(), evenly(2, 3).tolist()
      ([0, 4, 8], [0, 1])
    """
    return np.linspace(0, count - 1, min(count, most)).round().astype(int)


class Forward:
    """Logits of any rows, block by block; the last block is filled up with its last row.

    Args:
      apply: (parameters, inputs) -> logits.

    Example:
      >>> forward = Forward(lambda w, x: x @ w)
      >>> forward(np.eye(2, dtype=np.float32), np.ones((3, 2), np.float32)).shape
      (3, 2)
    """

    def __init__(self, apply: Callable[[Tree, Array], Array]):
        self._apply = jax.jit(apply)

    def __call__(self, params: Tree, x: Any) -> np.ndarray:
        """(rows, classes)."""
        parts = []
        for start in range(0, len(x), BLOCK):
            block = x[start : start + BLOCK]
            filling = np.repeat(block[-1:], BLOCK - len(block), axis=0)
            parts.append(np.asarray(self._apply(params, np.concatenate([block, filling]))))
        return np.concatenate(parts)[: len(x)]

    def error_on(self, x: np.ndarray, y: np.ndarray, most: int) -> Callable[[Tree], float]:
        """The share of wrong answers on at most so many rows, as a function of the parameters."""
        chosen = evenly(len(x), most)
        x, y = x[chosen], y[chosen]
        return lambda params: float(np.mean(self(params, x).argmax(axis=-1) != y))
