"""The gradient of an energy as one vector of a vector, for linear algebra on the host."""

import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.chain.groups import by_group
from pxsgmcmc.tree import check_float_leaves, paths, size
from pxsgmcmc.types import Batch, Potential, Tree


class FlatEnergy:
    """An energy around a position, whose coordinates are one vector.

    Args:
      potential: energy of (position, batch) in full-data units.
      position: where to measure.

    Example:
      >>> energy = FlatEnergy(lambda q, batch: jnp.sum(q["w"] ** 2) / 2, {"w": jnp.arange(3.0)})
      >>> energy.gradient(energy.position, None).tolist(), energy.groups
      ([0.0, 1.0, 2.0], {'base': slice(0, 3, None)})
    """

    def __init__(self, potential: Potential, position: Tree):
        check_float_leaves("position", position)
        self._leaves, self._structure = jax.tree.flatten(position)
        self.position = np.concatenate([np.ravel(np.asarray(x, float)) for x in self._leaves])
        self.position = self.position.astype(jnp.zeros((), float).dtype)
        self.groups, start = dict[str, slice](), 0
        for name, part in by_group(position).items():  # in the order of the leaves
            if size(part):
                self.groups[name] = slice(start, start + size(part))
                start += size(part)
        self._names = paths(position)
        self._gradient = jax.jit(
            lambda vector, batch: self._flatten(jax.grad(potential)(self._tree(vector), batch))
        )

    def gradient(self, vector: np.ndarray, batch: Batch) -> np.ndarray:
        """Gradient of the energy on a batch, (coordinates,)."""
        return np.asarray(self._gradient(vector, batch))

    def layers(self) -> dict[str, np.ndarray]:
        """Name of a layer -> the places of its coordinates."""
        layers: dict[str, list[np.ndarray]] = {}
        for name, (start, stop) in zip(self._names, self._bounds(), strict=True):
            layers.setdefault(name.rpartition("/")[0] or name, []).append(np.arange(start, stop))
        return {name: np.concatenate(places) for name, places in layers.items()}

    def _bounds(self) -> Iterator[tuple[int, int]]:
        start = 0
        for leaf in self._leaves:
            stop = start + math.prod(leaf.shape)
            yield start, stop
            start = stop

    def _tree(self, vector: Any) -> Tree:
        parts = [
            vector[start:stop].reshape(leaf.shape).astype(leaf.dtype)
            for leaf, (start, stop) in zip(self._leaves, self._bounds(), strict=True)
        ]
        return jax.tree.unflatten(self._structure, parts)

    def _flatten(self, tree: Tree) -> Any:
        return jnp.concatenate([x.astype(float).ravel() for x in jax.tree.leaves(tree)])
