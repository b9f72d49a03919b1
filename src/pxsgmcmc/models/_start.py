"""Where parameters start: one rule for each kind of leaf, one draw of random numbers for all.

Kernels are normal with variance gain / fan-in, cut off at two standard deviations and rescaled to
keep that variance: gain 2 is He et al. (2015), 1 is LeCun et al. (1998). Scales start at 1, biases
and thresholds at 0, embeddings at 0.02 times a cut-off normal.
"""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp

from pxsgmcmc.types import Array, Key, Tree

_CUT_OFF_STD = 0.87962566103423978  # of a standard normal cut off at -2 and 2
_EMBEDDING_STD = 0.02
_CONSTANTS = {"scale": 1.0, "bias": 0.0, "threshold": 0.0}


def starter(layout: Tree, *, gain: float, head: str, head_gain: float) -> Callable[[Key], Tree]:
    """The function from a key to initial parameters.

    Args:
      layout: nested dict of shapes, by the leaf names of Flax.
      gain: of all kernels but that of the head.
      head: name of the layer that gives the logits.
      head_gain: of its kernel.
    """
    flat, structure = jax.tree_util.tree_flatten_with_path(layout)
    numbers = sum(math.prod(leaf.shape) for _, leaf in flat)

    @jax.jit
    def cut(z: Array) -> Tree:
        leaves, used = [], 0
        for path, leaf in flat:
            *parents, name = (part.key for part in path)
            normals = z[used : used + math.prod(leaf.shape)].reshape(leaf.shape)
            used += math.prod(leaf.shape)
            if name == "kernel":
                own_gain = head_gain if "/".join(parents) == head else gain
                leaves.append(math.sqrt(own_gain / fan_in(parents[-1], leaf.shape)) * normals)
            elif name == "embedding":
                leaves.append(_EMBEDDING_STD * normals)
            else:
                leaves.append(jnp.full_like(normals, _CONSTANTS[name]))
        return jax.tree.unflatten(structure, leaves)

    # One flat draw outside of `cut`: XLA takes seconds to compile a draw with four axes, and would
    # repeat a draw for every leaf that is cut from it.
    def start(key: Key) -> Tree:
        return cut(jax.random.truncated_normal(key, -2.0, 2.0, (numbers,)) / _CUT_OFF_STD)

    return start


def fan_in(layer: str, shape: tuple[int, ...]) -> int:
    """How many inputs meet in one output of a kernel.

    Example:
      >>> fan_in("conv1", (3, 3, 16, 32))
      144
      >>> fan_in("query", (64, 8, 8))  # (features, heads, head width)
      64
    """
    outputs = 2 if layer in ("query", "key", "value") else 1
    return math.prod(shape[:-outputs])
