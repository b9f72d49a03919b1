"""Positions as one vector for the base and one for the factors.

A deep network of narrow layers has a hundred small arrays. Noise, momentum and position of each are
steps of a compiled program of their own, and so are the arguments of every call; together they take
as long as the gradient. Packed, there are two vectors.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from pxsgmcmc.chain.groups import by_group
from pxsgmcmc.expansion import Expanded
from pxsgmcmc.types import Tree


class Packing(NamedTuple):
    """How positions of one structure are packed: an argument that programs are compiled for.

    Attributes:
      structure: of a position.
      shapes: of its leaves.
      dtypes: of its leaves.
      base: how many of them are the base; the others are factors.
    """

    structure: Any
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[Any, ...]
    base: int

    @classmethod
    def of(cls, position: Tree) -> "Packing":
        """Of all positions like this one."""
        leaves, structure = jax.tree.flatten(position)
        base = len(jax.tree.leaves(by_group(position)["base"]))
        return cls(structure, tuple(x.shape for x in leaves), tuple(x.dtype for x in leaves), base)

    def pack(self, tree: Tree) -> Tree:
        """Vectors on the host, of a tree of arrays there."""
        leaves = [np.ravel(leaf) for leaf in jax.tree.leaves(tree)]
        return self._grouped([np.concatenate(part) for part in self._parts(leaves)])

    def unpack(self, packed: Tree) -> Tree:
        """The tree that was packed, on the host or in a compiled program."""
        leaves: list[Any] = []
        groups = self._parts(list(zip(self.shapes, self.dtypes, strict=True)))
        for vector, described in zip(jax.tree.leaves(packed), groups, strict=True):
            start = 0
            for shape, dtype in described:
                stop = start + math.prod(shape)
                leaves.append(vector[start:stop].reshape(shape).astype(dtype))
                start = stop
        return jax.tree.unflatten(self.structure, leaves)

    def masses(self, of_leaves: Sequence[Any]) -> tuple[np.ndarray, ...]:
        """Of each coordinate of each vector, from those of the leaves of a position."""
        each = [
            np.full(math.prod(shape), mass, np.float32)
            for shape, mass in zip(self.shapes, of_leaves, strict=True)
        ]
        return tuple(np.concatenate(part) for part in self._parts(each))

    def packed_state(self, state: Any) -> Any:
        """A sampler's state with its position and momentum packed."""
        return self._replaced(state, self.pack, ())

    def unpacked_state(self, state: Any) -> Any:
        """The state that was packed."""
        like = jax.tree.unflatten(self.structure, self.shapes)
        return self._replaced(state, self.unpack, getattr(like, "layers", ()))

    def _replaced(self, state: Any, change: Any, layers: tuple[Any, ...]) -> Any:
        new = {n: change(getattr(state, n)) for n in ("position", "momentum") if hasattr(state, n)}
        thermostat = getattr(state, "thermostat", None)
        if isinstance(thermostat, Expanded):  # a number a group
            new["thermostat"] = Expanded(thermostat.base, thermostat.factors, layers)
        return state._replace(**new)

    def _parts(self, of_leaves: list[Any]) -> list[list[Any]]:
        """Those of the base, and those of the factors if there are any."""
        parts = [of_leaves[: self.base], of_leaves[self.base :]]
        return [part for part in parts if part]

    def _grouped(self, vectors: list[Any]) -> Tree:
        return vectors[0] if len(vectors) == 1 else Expanded(vectors[0], vectors[1], ())
