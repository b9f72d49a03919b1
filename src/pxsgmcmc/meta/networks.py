"""The small networks that a sampler is meta-trained on, as matrix products.

XLA on a processor runs a convolution inside `lax.scan` several times slower than outside, and an
unroll is one scan: so a convolution is written as nine shifted images side by side times a matrix.
Whether layers have shortcuts is a number, so that plain and residual tasks run in one program.
"""

import math

import jax
import jax.numpy as jnp

from pxsgmcmc.tree import normal_like
from pxsgmcmc.types import Array, Key, Tree


def init_network(
    key: Key, kind: str, shape: tuple[int, ...], width: int, depth: int, classes: int
) -> Tree:
    """Weights of LeCun's scale, biases of zero.

    Args:
      key: of the weights.
      kind: "dense" or "conv".
      shape: of one input.
      width: of each hidden layer.
      depth: hidden layers.
      classes: logits.
    """
    first = math.prod(shape) if kind == "dense" else 9 * shape[-1]
    inner, last = (width, width) if kind == "dense" else (9 * width, 4 * width)
    sizes = [(first, width), *[(inner, width)] * (depth - 1), (last, classes)]
    shapes = {
        f"layer{number}": jax.ShapeDtypeStruct(size, jnp.float32)
        for number, size in enumerate(sizes)
    }
    kernels = normal_like(key, shapes)  # one draw: drawn one by one they take longest to compile
    return {
        name: {"kernel": z / math.sqrt(len(z)), "bias": jnp.zeros(z.shape[1])}
        for name, z in kernels.items()
    }


def apply_network(kind: str, params: Tree, x: Array, residual: Array) -> Array:
    """Logits of inputs; `residual` is 1.0 with shortcuts around inner layers and 0.0 without."""
    *hidden, head = (params[f"layer{number}"] for number in range(len(params)))
    x = x.reshape(len(x), -1) if kind == "dense" else x
    for number, layer in enumerate(hidden):
        if kind == "dense":
            seen, stride = x, 1
        else:  # halved by the first layer, and later until it is at most 8 x 8
            stride = 2 if number == 0 or x.shape[1] > 8 else 1
            seen, x = neighbours(x, stride), x[:, ::stride, ::stride]
        new = jax.nn.swish(_affine(layer, seen))
        x = new + residual * x if number else new
    return _affine(head, x if kind == "dense" else quarters(x))


def _affine(layer: Tree, x: Array) -> Array:
    flat = x.reshape(-1, x.shape[-1]) @ layer["kernel"] + layer["bias"][None]
    return flat.reshape(*x.shape[:-1], -1)


def neighbours(x: Array, stride: int = 1) -> Array:
    """Each pixel's 3 x 3 surroundings, zero beyond the border, side by side in the last axis.

    Example:
      >>> neighbours(jnp.ones((1, 4, 4, 2)), stride=2).shape
      (1, 2, 2, 18)
    """
    _, height, width, _ = x.shape
    padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    shifted = [
        padded[:, down : down + height : stride, across : across + width : stride]
        for down in range(3)
        for across in range(3)
    ]
    return jnp.concatenate(shifted, axis=-1)


def quarters(x: Array) -> Array:
    """Means over the four quarters of each image, side by side; a middle row counts to the lower.

    Example:
      >>> quarters(jnp.ones((1, 4, 4, 2))).shape
      (1, 8)
    """
    down, across = x.shape[1] // 2, x.shape[2] // 2
    parts = [
        half[:, :, side]
        for half in (x[:, :down], x[:, down:])
        for side in (slice(None, across), slice(across, None))
    ]
    return jnp.concatenate([jnp.mean(part, axis=(1, 2)) for part in parts], axis=-1)
