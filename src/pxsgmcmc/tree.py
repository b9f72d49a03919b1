"""Arithmetic, noise and names over pytrees of arrays."""

import math
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.errors import CorruptRun, UserError, one_line
from pxsgmcmc.types import Array, Key, Tree

NOISE_BLOCK = 1 << 15
ROOT = "value"  # what the one leaf of a bare array is called in a file


def paths(tree: Tree) -> list[str]:
    """Names of the leaves in flattening order, such as "blocks/0/conv/kernel".

    The last key of a Flax NNX parameter (`.value`) belongs to its container and is left out.

    Example:
      >>> paths({"dense": {"kernel": 1.0, "bias": 2.0}})
      ['dense/bias', 'dense/kernel']
    """
    flat, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [path_name(path) for path, _ in flat]


def path_name(path: tuple[Any, ...]) -> str:
    """One JAX key path as a string with slashes."""
    if len(path) > 1 and path[-1] == jax.tree_util.GetAttrKey("value"):
        path = path[:-1]
    return jax.tree_util.keystr(path, simple=True, separator="/")


def check_float_leaves(name: str, tree: Tree) -> None:
    """Raise `UserError` unless `tree` has leaves and each is a floating-point array."""
    flat, _ = jax.tree_util.tree_flatten_with_path(tree)
    if not flat:
        raise UserError(f"`{name}` must hold at least one array, got an empty tree.")
    for path, leaf in flat:
        kind = getattr(leaf, "dtype", None)
        if kind is None or not jnp.issubdtype(kind, jnp.floating):
            what = f"{kind} array" if kind is not None else type(leaf).__name__
            raise UserError(
                f"`{name}` must hold floating-point arrays only, got {what} at "
                f"{path_name(path) or 'its root'!r}; split off what is not sampled first (of an "
                "Equinox module, by `eqx.partition(model, eqx.is_inexact_array)`)."
            )


def to_arrays(tree: Tree) -> dict[str, np.ndarray]:
    """Name -> array on the host; a tree that is one bare array is called "value".

    Example:
      >>> to_arrays({"a": jnp.zeros(2)})
      {'a': array([0., 0.], dtype=float32)}
    """
    return dict(zip(_file_names(tree), map(np.asarray, jax.tree.leaves(tree)), strict=True))


_WIDTHS = {np.dtype(np.float32), np.dtype(np.float64)}


def from_arrays(arrays: Mapping[str, np.ndarray], like: Tree, what: str) -> Tree:
    """The tree shaped like `like` with the arrays named so; `what` names it in an error."""
    leaves, names = [], _file_names(like)
    if strangers := sorted(set(arrays) - set(names)):
        raise CorruptRun(f"{what} does not fit this model: it has {strangers[0]!r} too many.")
    for name, leaf in zip(names, jax.tree.leaves(like), strict=True):
        array = arrays.get(name)
        if array is not None and {array.dtype, leaf.dtype} == _WIDTHS:
            x64 = int(array.dtype == np.float64)
            raise UserError(
                f"{what} is in {array.dtype}, and JAX computes in {leaf.dtype} now: set "
                f"JAX_ENABLE_X64={x64}, as when it was made."
            )
        if array is None or array.shape != leaf.shape or array.dtype != leaf.dtype:
            had = "nothing" if array is None else f"{array.dtype}{list(array.shape)}"
            raise CorruptRun(
                f"{what} does not fit this model: {name!r} should be "
                f"{leaf.dtype}{list(leaf.shape)}, it has {had}."
            )
        leaves.append(jnp.asarray(array))
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def nested(arrays: Mapping[str, np.ndarray]) -> Tree:
    """Arrays by name as nested dictionaries, for when the structure they had is not known.

    Example:
      >>> nested({"a/b": 1, "a/c": 2})
      {'a': {'b': 1, 'c': 2}}
    """
    if set(arrays) == {ROOT}:
        return arrays[ROOT]
    tree: dict[str, Any] = {}
    for name, array in arrays.items():
        *folders, last = name.split("/")
        place = tree
        for folder in folders:
            place = place.setdefault(folder, {})
        place[last] = array
    return tree


def _file_names(tree: Tree) -> list[str]:
    names = paths(tree)
    return [ROOT] if names == [""] else names


def size(tree: Tree) -> int:
    """How many numbers the tree holds.

    Example:
      >>> size({"a": jnp.zeros((2, 3)), "b": jnp.zeros(4)})
      10
    """
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(tree))


def broadcast_prefix(prefix: Tree, tree: Tree, name: str) -> Tree:
    """Repeat the leaves of `prefix` over the subtrees of `tree` that they stand for.

    Example:
      >>> broadcast_prefix({"a": 1.0, "b": 2.0}, {"a": [0, 0], "b": 0}, "friction")
      {'a': [1.0, 1.0], 'b': 2.0}
    """
    try:
        return jax.tree.map(lambda value, part: jax.tree.map(lambda _: value, part), prefix, tree)
    except (ValueError, TypeError, KeyError):
        # By its name: expansion stands above this file.
        if [type(part).__name__ == "Expanded" for part in (prefix, tree)] == [True, False]:
            raise UserError(
                f"`{name}` is given by groups, base and factors, but the position has none: start "
                "from `px.expand(params, plan)`, or give one number."
            ) from None
        raise UserError(
            f"`{name}` must be a number or a tree prefix of the position, got "
            f"{_outline(prefix)} for a position like {_outline(tree)}."
        ) from None


def _outline(tree: Tree) -> str:
    """The structure of a tree in at most a line."""
    text = str(jax.tree.structure(tree)).removeprefix("PyTreeDef(").removesuffix(")")
    return text if len(text) <= 120 else text[:117] + "..."


def check_prefix(name: str, prefix: Tree, *, at_least: float = 0.0, above: bool = False) -> Tree:
    """Return `prefix` if its numbers are finite and within the bound, else raise `UserError`."""
    flat, _ = jax.tree_util.tree_flatten_with_path(prefix)
    for path, value in flat:
        where = f" at {path_name(path)!r}" if path else ""
        rule = f"{'above' if above else 'at least'} {at_least:g}"
        try:
            number = math.nan if isinstance(value, bool | str) else float(value)
            fits = math.isfinite(number) and (number > at_least if above else number >= at_least)
        except jax.errors.ConcretizationTypeError:  # traced: its value is not known yet
            continue
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise UserError(f"`{name}` must be a number {rule}, got {one_line(value)}{where}.")
    if not flat:
        raise UserError(f"`{name}` must be a number or a tree of numbers, got {prefix!r}.")
    return prefix


def by_path(tree: Tree, values: Mapping[str, Any], name: str = "values") -> Tree:
    """A tree like `tree` whose leaves are looked up by the first pattern that matches their name.

    Example:
      >>> by_path({"kernel": 0.0, "bias": 0.0}, {"*bias": 1.0, "*": 0.02})
      {'bias': 1.0, 'kernel': 0.02}
    """
    unused = set(values)
    leaves = []
    for path in paths(tree):
        matches = [pattern for pattern in values if fnmatchcase(path, pattern)]
        if not matches:
            raise UserError(f"`{name}` has no pattern for {path!r}; add one, or '*' for the rest.")
        unused -= set(matches)
        leaves.append(values[matches[0]])
    if unused:
        raise UserError(f"`{name}` has a pattern that matches nothing: {sorted(unused)[0]!r}.")
    return jax.tree.unflatten(jax.tree.structure(tree), leaves)


def map_like(f: Callable[..., Array], tree: Tree, *rest: Tree) -> Tree:
    """`jax.tree.map` that computes in at least float32 and returns the dtypes of `tree`.

    So equations can be written with plain scalars, and half-precision positions lose nothing twice.
    """

    def leaf(x: Array, *others: Any) -> Array:
        dtype = _wide(x)
        return _cast(f(*(_cast(value, dtype) for value in (x, *others))), x.dtype)

    return jax.tree.map(leaf, tree, *rest)


def widen(x: Array) -> Array:
    """`x` in at least float32."""
    return _cast(x, _wide(x))


def _cast(x: Any, dtype: jnp.dtype) -> Array:
    """`jnp.asarray` that leaves alone what is right: it is asked for thousands of times a trace."""
    fits = isinstance(x, jax.Array) and x.dtype == dtype and not x.weak_type
    return x if fits else jnp.asarray(x, dtype)


def _wide(*arrays: Array) -> jnp.dtype:
    """The widest of the arrays' float types and JAX's default one, under any promotion rule."""
    types = [jnp.dtype(jnp.result_type(float)), *(x.dtype for x in arrays)]
    return max(types, key=lambda dtype: jnp.finfo(dtype).bits)


def zeros_like(tree: Tree) -> Tree:
    """The tree of zeros of the same shapes and dtypes."""
    return jax.tree.map(jnp.zeros_like, tree)


def normal_like(key: Key, tree: Tree) -> Tree:
    """Independent standard normals shaped like `tree`, from one draw that is cut into leaves.

    Element i of the draw depends on the key and i alone, so leaves that come later in the tree
    do not change the noise of those before: an expanded chain and its plain twin share it.
    """
    leaves, structure = jax.tree.flatten(tree)
    z = _normals(key, size(tree), _wide(*leaves))
    parts, start = [], 0
    for leaf in leaves:
        stop = start + math.prod(leaf.shape)
        parts.append(z[start:stop].reshape(leaf.shape).astype(leaf.dtype))
        start = stop
    return jax.tree.unflatten(structure, parts)


def _normals(key: Key, count: int, dtype: jnp.dtype) -> Array:
    """Standard normals; the first are the same whatever the count.

    Many are drawn by a loop on the device. Without it XLA copies all that turns bits into normals
    into the update of every leaf, which was a third of the program of a deep network.
    """
    blocks = -(-count // NOISE_BLOCK)
    if blocks <= 1:
        return jax.random.normal(key, (count,), dtype)
    later = jax.vmap(partial(jax.random.fold_in, key))(jnp.arange(1, blocks))
    keys = jnp.concatenate([key[None], later])
    z = jax.lax.map(lambda key: jax.random.normal(key, (NOISE_BLOCK,), dtype), keys)
    return z.reshape(-1)[:count]


def dot(a: Tree, b: Tree) -> Array:
    """Inner product over all leaves, summed in at least float32."""

    def leaf(x: Array, y: Array) -> Array:
        dtype = _wide(x, y)
        return jnp.sum(x.astype(dtype) * y.astype(dtype))

    return sum(jax.tree.leaves(jax.tree.map(leaf, a, b)), start=jnp.zeros((), float))


def sum_of_squares(tree: Tree) -> Array:
    """Squared Euclidean norm over all leaves."""
    return dot(tree, tree)


def where(condition: Array, a: Tree, b: Tree) -> Tree:
    """`a` where the scalar `condition` holds, else `b`."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), a, b)
