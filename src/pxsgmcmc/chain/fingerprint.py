"""What decides the draws of a chain, as hashes: so that going on with something else is noticed.

The step itself is hashed as JAX traced it, numbers and all: the network, likelihood, prior,
expansion, sampler and schedule are in it, whoever wrote them, without a list that could be wrong.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.types import Tree

_ADDRESS = re.compile(r" at 0x[0-9a-f]+|0x[0-9a-f]{6,}")  # of objects, which change every time


def traced_fingerprint(traced: Any) -> str:
    """SHA-256 of what `jax.make_jaxpr` gave, with the arrays that it holds."""
    digest = hashlib.sha256(_ADDRESS.sub("", str(traced.jaxpr)).encode())
    for constant in _constants(traced):
        _add(digest, constant)
    return digest.hexdigest()


def tree_fingerprint(tree: Tree) -> str:
    """SHA-256 of the arrays of a tree.

    Example:
      >>> tree_fingerprint({"a": np.zeros(2)}) == tree_fingerprint({"a": np.zeros(2)})
      True
    """
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(tree):
        _add(digest, leaf)
    return digest.hexdigest()


def _constants(traced: Any) -> Iterator[Any]:
    """Arrays held by a traced function and by those inside it."""
    yield from getattr(traced, "consts", ())
    for equation in getattr(traced, "jaxpr", traced).eqns:
        for inner in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")
        ):
            if hasattr(inner, "eqns"):
                yield from _constants(inner)


def _add(digest: Any, array: Any) -> None:
    if jnp.issubdtype(getattr(array, "dtype", np.float32), jax.dtypes.prng_key):
        array = jax.random.key_data(array)
    values = np.asarray(array)
    digest.update(f"{values.dtype}{values.shape}".encode())
    digest.update(np.ascontiguousarray(values).tobytes())
