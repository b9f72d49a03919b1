"""The gradient of an energy as one vector of a vector, for linear algebra on the host."""

import copy
import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.chain.groups import by_group
from pxsgmcmc.posterior import PosteriorPotential
from pxsgmcmc.tree import check_float_leaves, paths, size
from pxsgmcmc.types import Array, Batch, Potential, Tree


class FlatEnergy:
    """An energy around a position, whose coordinates are one vector.

    The gradient is compiled once for each size of a batch; `at` shares it with other positions.

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
        self._leaves, self._structure = jax.tree.flatten(jax.eval_shape(lambda: position))
        self.potential, self.position = potential, _vector(position)
        self.groups, start = dict[str, slice](), 0
        for name, part in by_group(position).items():  # in the order of the leaves
            if size(part):
                self.groups[name] = slice(start, start + size(part))
                start += size(part)
        self._names = paths(position)
        self._gradient = jax.jit(
            lambda vector, batch: self._flatten(jax.grad(potential)(self.tree(vector), batch))
        )
        self.prior = self._prior_energy(position)

    def at(self, position: Tree) -> "FlatEnergy":
        """The same energy around another position, with what was compiled."""
        other = copy.copy(self)
        other.position = _vector(position)
        if other.prior is not None:
            other.prior = other.prior.at(position)
        return other

    def gradient(self, vector: np.ndarray | Array, batch: Batch) -> np.ndarray:
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

    def tree(self, vector: Any) -> Tree:
        """A vector as a position."""
        parts = [
            vector[start:stop].reshape(leaf.shape).astype(leaf.dtype)
            for leaf, (start, stop) in zip(self._leaves, self._bounds(), strict=True)
        ]
        return jax.tree.unflatten(self._structure, parts)

    def _flatten(self, tree: Tree) -> Any:
        return jnp.concatenate([x.astype(float).ravel() for x in jax.tree.leaves(tree)])

    def _prior_energy(self, position: Tree) -> "FlatEnergy | None":
        """The part of the energy that is the prior's, if the energy tells its parts."""
        potential = self.potential
        if not isinstance(potential, PosteriorPotential):
            return None

        def prior(position: Tree, batch: Batch) -> Any:
            parts = potential.parts(position, batch)
            return parts.prior + parts.factor_prior

        return FlatEnergy(prior, position)


def _vector(position: Tree) -> np.ndarray:
    parts = [np.ravel(np.asarray(x, float)) for x in jax.tree.leaves(position)]
    return np.concatenate(parts).astype(jnp.zeros((), float).dtype)
