"""The mass of a sampler with momentum: a number, a tree prefix, or an array for each leaf."""

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.errors import UserError, one_line
from pxsgmcmc.tree import broadcast_prefix, check_prefix, path_name
from pxsgmcmc.types import Tree


def check_mass(mass: Tree) -> Tree:
    """Return `mass` if all its numbers are finite and above 0, else raise `UserError`.

    Example:
      >>> check_mass({"w": np.array([1.0, 4.0]), "b": 2.0})["b"]
      2.0
    """
    leaves, structure = jax.tree.flatten(mass)
    scalars = [1.0 if _is_array(leaf) else leaf for leaf in leaves]
    check_prefix("mass", jax.tree.unflatten(structure, scalars), above=True)
    for path, leaf in jax.tree_util.tree_flatten_with_path(mass)[0]:
        if not _is_array(leaf):
            continue
        try:
            numbers = np.asarray(leaf, float)
        except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError):
            continue  # traced: its values are not known yet
        except (TypeError, ValueError):
            numbers = np.full(1, np.nan)
        if not np.all((numbers > 0.0) & np.isfinite(numbers)):
            where = f" at {path_name(path)!r}" if path else ""
            raise UserError(
                f"`mass` must hold numbers above 0 only, got {one_line(np.asarray(leaf))}{where}."
            )
    return mass


def mass_of(mass: Tree, position: Tree) -> Tree:
    """The mass of each leaf of `position`: a number or an array of the leaf's own shape.

    Example:
      >>> mass_of({"a": 2.0}, {"a": [jnp.zeros(3), jnp.zeros(4)]})
      {'a': [2.0, 2.0]}
    """
    masses = broadcast_prefix(mass, position, "mass")
    leaves = jax.tree_util.tree_flatten_with_path(position)[0]
    for (path, leaf), M in zip(leaves, jax.tree.leaves(masses), strict=True):
        if np.shape(M) not in ((), jnp.shape(leaf)):
            raise UserError(
                f"`mass` must be a number or an array of the shape {jnp.shape(leaf)} for "
                f"{path_name(path) or 'the position'!r}, got shape {np.shape(M)}."
            )
    return masses


def _is_array(leaf: object) -> bool:
    return isinstance(leaf, np.ndarray | jax.Array) and np.ndim(leaf) > 0
