"""The parts of a position or momentum that are looked at separately: base and factors."""

from typing import Any

import jax
import jax.numpy as jnp

from pxsgmcmc.expansion.position import Expanded
from pxsgmcmc.tree import broadcast_prefix, size, sum_of_squares, widen
from pxsgmcmc.types import Array, Tree


def by_group(tree: Tree) -> dict[str, Tree]:
    """Group -> its part of the tree."""
    if isinstance(tree, Expanded):
        return {"base": tree.base, "factors": tree.factors}
    return {"base": tree}


def kinetic_temperature(momentum: Tree, mass: Tree = 1.0) -> dict[str, Array]:
    """Mean of m^2 / M over coordinates, by group: the sampler's temperature if all is well.

    Example:
      >>> float(kinetic_temperature({"w": jnp.array([1.0, -1.0, 2.0])})["base"])
      2.0
    """
    if not (isinstance(mass, int | float) and mass == 1.0):
        masses = broadcast_prefix(mass, momentum, "mass")
        momentum = jax.tree.map(
            lambda m, M: widen(m) / jnp.sqrt(jnp.asarray(M, float)), momentum, masses
        )
    groups = {name: part for name, part in by_group(momentum).items() if size(part)}
    return {name: sum_of_squares(part) / size(part) for name, part in groups.items()}


def group_values(prefix: Tree, position: Tree, name: str) -> dict[str, float | None]:
    """One number a group of a setting given as a tree prefix; None where it is not one number."""
    groups = by_group(broadcast_prefix(prefix, position, name))
    values: dict[str, float | None] = {}
    for group, part in groups.items():
        numbers: set[Any] = {float(value) for value in jax.tree.leaves(part)}
        if numbers:
            values[group] = numbers.pop() if len(numbers) == 1 else None
    return values
