"""A compiled program with data: steps of all chains, and gradients from the same program.

A step of size 1 from rest, without friction and so without noise, leaves the momentum at minus the
gradient. So curvatures and gradient noise are measured without compiling anything that sampling
does not need.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from pxsgmcmc.chain.groups import by_group
from pxsgmcmc.samplers.sghmc import SGHMCState
from pxsgmcmc.tree import size
from pxsgmcmc.tuning.engine.programs import Program, Settings, Spec
from pxsgmcmc.types import Batch, Tree


@dataclass
class Stepper:
    """A program with data: takes steps of all chains, and gradients.

    Attributes:
      program: compiled.
      data: (x, y, weights), perhaps filled up with rows of no weight.
      count: rows that are not filling.
      streams: rows of each chain's steps.
      keys: of the noise and of the augmentation of the chains of each part, stacked.
      masses: of each leaf of a position.
      last_layer: scale of the default prior.
    """

    program: Program
    data: Batch
    count: int
    streams: Sequence[Any]
    keys: Any
    masses: tuple[float, ...]
    last_layer: float

    @property
    def spec(self) -> Spec:
        """Of the program."""
        return self.program.spec

    def settings(self, h: float, friction: dict[str, float]) -> Settings:
        """With the masses and the prior of the chains."""
        return Settings(h, friction, self.masses, self.last_layer)

    def steps(
        self, state: Any, first: int, count: int, h: float, friction: dict[str, float]
    ) -> tuple[Any, Any]:
        """State and sums after so many steps of all chains, from step number `first`."""
        rows = None
        if self.spec.batch:
            rows = np.stack([one.rows(first, count) for one in self.streams])
        return self.call(state, count, rows, h, friction)

    @property
    def most(self) -> int:
        """Steps that one call can be asked for."""
        return 1000 if self.spec.batch else 100_000

    def call(
        self,
        state: Any,
        count: int,
        rows: np.ndarray | None,
        h: float,
        friction: dict[str, float],
        active: np.ndarray | None = None,
    ) -> tuple[Any, Any]:
        """The program, with arrays of the types and shapes that it was compiled for."""
        table = np.zeros((self.spec.chains, 1, 1), np.int32)
        if rows is not None and self.spec.batch:
            many = rows.shape[1] if self.spec.slow else self.most  # a shape of a compiled program
            table = np.zeros((self.spec.chains, many, self.spec.batch), np.int32)
            table[:, : rows.shape[1]] = rows
        return self.program.advance(
            state,
            np.int32(count),
            table,
            self.data,
            self.settings(h, friction).typed(),
            self.keys,
            np.ones(self.spec.chains, bool) if active is None else active,
        )

    def gradients(self, positions: Tree, rows: np.ndarray | None, first: int = -1) -> Tree:
        """Of the energy at the position of each chain, on given rows (chains, batch) or on all.

        Args:
          positions: stacked.
          rows: of the batch of each chain.
          first: so many chains are wanted; where they run one by one, the others are left out.
        """
        momentum = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), positions)
        start: Any = np.zeros(self.spec.chains, np.int32)
        rest = SGHMCState(start, positions, momentum)
        active = np.arange(self.spec.chains) < (first if first > 0 else self.spec.chains)
        table = None if rows is None else rows[:, None]
        friction = dict.fromkeys(by_group(positions), 0.0)
        after, _ = self.call(rest, 1, table, 1.0, friction, active)
        return jax.tree.map(lambda m: -np.asarray(m), after.momentum)


class Flat:
    """Positions of a tree as vectors, several at a time, in coordinates in which masses are 1.

    A sampler with mass M in q is one with mass 1 in sqrt(M) q, so its laws are asked for there.
    """

    def __init__(self, like: Tree, masses: Sequence[float]):
        self._leaves, self._structure = jax.tree.flatten(like)
        sizes = [np.size(leaf) for leaf in self._leaves]
        ends = np.cumsum(sizes).tolist()
        self.leaves = [slice(end - n, end) for n, end in zip(sizes, ends, strict=True)]
        self._roots = np.repeat(np.sqrt(np.asarray(masses, np.float32)), sizes)
        self.groups, start = dict[str, slice](), 0
        for name, part in by_group(like).items():
            if size(part):
                self.groups[name] = slice(start, start + size(part))
                start += size(part)

    def vectors(self, positions: Tree) -> np.ndarray:
        """Of stacked positions, (positions, coordinates)."""
        return _rows(positions) * self._roots

    def slopes(self, gradients: Tree) -> np.ndarray:
        """Of stacked gradients, (gradients, coordinates)."""
        return _rows(gradients) / self._roots

    def trees(self, vectors: np.ndarray) -> Tree:
        """Stacked trees of (trees, coordinates)."""
        vectors = vectors / self._roots
        leaves = []
        for leaf, places in zip(self._leaves, self.leaves, strict=True):
            part = np.ascontiguousarray(vectors[:, places])
            leaves.append(part.reshape(len(vectors), *leaf.shape).astype(leaf.dtype))
        return jax.tree.unflatten(self._structure, leaves)


def _rows(trees: Tree) -> np.ndarray:
    return np.concatenate(
        [np.asarray(leaf).reshape(len(leaf), -1) for leaf in jax.tree.leaves(trees)], axis=1
    )
