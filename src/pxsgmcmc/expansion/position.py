"""The expanded position: a pytree that samplers move like any other."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax

from pxsgmcmc.expansion.factors import Factor, as_square, multiply, transpose
from pxsgmcmc.expansion.rules import Layer
from pxsgmcmc.types import Tree


class LayerFactors(NamedTuple):
    """The factors of one layer; P_1 and Q_1 stand next to the base."""

    out: tuple[Factor, ...]  # P_1 .. P_c, each (n_out, n_out), or wider inside
    into: tuple[Factor, ...]  # Q_1 .. Q_d, each (n_in, n_in), or wider inside


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Expanded:
    """Base parameters and factors.

    Attributes:
      base: V and a, structured and shaped like the model's own parameters.
      factors: layer name -> `LayerFactors`.
      layers: which axes of which leaves the factors multiply; part of the tree's structure.
    """

    base: Tree
    factors: Any
    layers: tuple[Layer, ...] = field(metadata={"static": True})


def collapse(position: Tree) -> Tree:
    """The model's own parameters: W = P_c .. P_1 V Q_1 .. Q_d and b = P_c .. P_1 a, layer by layer.

    A position that was not expanded is returned as it is. At the identity the result equals the
    base bit for bit, for all normal floating-point numbers and +0.

    Example:
      >>> collapse({"kernel": 1.0})
      {'kernel': 1.0}
    """
    if not isinstance(position, Expanded):
        return position
    leaves, structure = jax.tree.flatten(position.base)
    for layer in position.layers:
        factors = position.factors[layer.name]
        for leaf in layer.leaves:
            for P in as_square(factors.out) if leaf.out else ():
                leaves[leaf.place] = multiply(P, leaves[leaf.place], leaf.out)
            for Q in as_square(tuple(map(transpose, factors.into))) if leaf.into else ():
                leaves[leaf.place] = multiply(Q, leaves[leaf.place], leaf.into)
            # Compiled together with the network, XLA turns its products round to save a transpose
            # here, and a factor at the identity would change the gradient's last bits.
            leaves[leaf.place] = jax.lax.optimization_barrier(leaves[leaf.place])
    return jax.tree.unflatten(structure, leaves)


def groups(position: Tree, *, base: Any, factors: Any) -> Tree:
    """A tree prefix of `position` with one value for the base and one for the factors.

    For friction, noise, or labels by group. A position that was not expanded is all base.

    Example:
      >>> groups({"kernel": 1.0}, base=100.0, factors=1.0)
      100.0
    """
    if not isinstance(position, Expanded):
        return base
    return Expanded(base=base, factors=factors, layers=position.layers)
