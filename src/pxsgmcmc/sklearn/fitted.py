"""What a fitted estimator keeps: NumPy arrays and plain numbers, so that joblib can dump it."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from pxsgmcmc.data.standardise import Standardisation
from pxsgmcmc.tree import to_arrays
from pxsgmcmc.types import Tree


@dataclass(frozen=True)
class Fitted:
    """A fit, without anything of JAX in it.

    Attributes:
      draws: name of a parameter -> (draws, ...) of all chains.
      records: of the chains, if they are kept in memory.
      out: run directory, if they are not.
      chains: how many.
      x: training inputs as they came, float32.
      y: training targets, labels as whole numbers.
      weighted: whether rows have weights, so that the energy of the problem is not that sampled.
      inputs: scale of the inputs.
      targets: scale of the targets; None for classes.
      names: of the classes or targets.
    """

    draws: dict[str, np.ndarray]
    records: list[Any] | None
    out: str | None
    chains: int
    x: np.ndarray
    y: np.ndarray
    weighted: bool
    inputs: Standardisation
    targets: Standardisation | None
    names: tuple[str, ...]


def stacked_draws(records: list[Any]) -> dict[str, np.ndarray]:
    """Name -> (draws, ...), the first draw of each chain, then the second of each."""
    arrays = [
        record.load_draw(number)
        for number in range(1, len(records[0].draws) + 1)
        for record in records
    ]
    return {name: np.stack([one[name] for one in arrays]) for name in arrays[0]}


def tree_of(draws: dict[str, np.ndarray], like: Tree) -> Tree:
    """Stacked parameters with the structure of `like`."""
    names = list(to_arrays(like))
    return jax.tree.unflatten(jax.tree.structure(like), [draws[name] for name in names])
