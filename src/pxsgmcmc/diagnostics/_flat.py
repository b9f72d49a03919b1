"""Trees as float64 vectors and back, so that geometry is written once, with vectors."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pxsgmcmc.errors import UserError

Tree = Any  # any pytree of arrays


def flatten(tree: Tree, name: str = "draw", like: Tree = None) -> np.ndarray:
    """All leaves of a tree, one after the other, as a float64 vector of finite numbers.

    Args:
      tree: a pytree of arrays; one array is a tree as well.
      name: what to call it in an error.
      like: a tree that must have the same structure and shapes; None to ask nothing.

    Example:
      >>> flatten({"bias": np.zeros(1), "kernel": np.ones((1, 2))})
      array([0., 1., 1.])
    """
    import jax

    leaves = jax.tree.leaves(tree)
    if not leaves:
        raise UserError(f"`{name}` must hold at least one array, got {tree!r}.")
    if like is not None and _layout(tree) != _layout(like):
        raise UserError(f"`{name}` must have the same structure and shapes as its companions.")
    try:
        vector = np.concatenate([np.asarray(leaf, np.float64).ravel() for leaf in leaves])
    except (TypeError, ValueError):
        raise UserError(f"`{name}` must be a tree of arrays of numbers, got {tree!r}.") from None
    if not np.isfinite(vector).all():
        bad = vector[~np.isfinite(vector)][0]
        raise UserError(f"`{name}` must hold finite numbers, got {bad}.")
    return vector


def unflatten(vector: np.ndarray, like: Tree) -> Tree:
    """Tree with the structure, shapes and dtypes of `like` and the entries of `vector`."""
    import jax

    leaves, structure = jax.tree.flatten(like)
    ends = np.cumsum([np.size(leaf) for leaf in leaves])
    parts = np.split(vector, ends[:-1])
    cast = [
        part.reshape(np.shape(leaf)).astype(np.asarray(leaf).dtype)
        for part, leaf in zip(parts, leaves, strict=True)
    ]
    return jax.tree.unflatten(structure, cast)


def flatten_groups(groups: Tree, *trees: Tree) -> dict[str, list[np.ndarray]]:
    """Vectors of the entries of each tree by group, group -> [of the first tree, of the next, ...].

    Args:
      groups: a tree prefix of the trees whose leaves are names of groups. None: the keys of the
        trees if they are mappings, else one group called "all".
      *trees: trees of the same structure.

    Example:
      >>> flatten_groups({"a": "base", "b": "factors"}, {"a": np.zeros(1), "b": [np.ones(2)]})
      {'base': [array([0.])], 'factors': [array([1., 1.])]}
    """
    import jax

    if groups is None:
        first = trees[0]
        groups = {key: str(key) for key in first} if isinstance(first, Mapping) else "all"
        trees = tuple(dict(tree) if isinstance(tree, Mapping) else tree for tree in trees)
    by_group: dict[str, list[list[np.ndarray]]] = {}

    def collect(group, *subtrees):
        if not any(jax.tree.leaves(subtree) for subtree in subtrees):
            return  # such as a layer without factors
        vectors = [flatten(subtree, group, like=subtrees[0]) for subtree in subtrees]
        by_group.setdefault(str(group), []).append(vectors)

    try:
        jax.tree.map(collect, groups, *trees)
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UserError(f"`groups` must be a tree prefix of what it names: {reason}.") from None
    if not by_group:
        raise UserError("There must be at least one group of numbers, got none.")
    return {
        group: [np.concatenate(parts) for parts in zip(*pieces, strict=True)]
        for group, pieces in by_group.items()
    }


def _layout(tree: Tree) -> tuple:
    """What two trees must share to be added."""
    import jax

    leaves, structure = jax.tree.flatten(tree)
    return structure, [np.shape(leaf) for leaf in leaves]
