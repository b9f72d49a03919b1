"""The layer shapes of the 20-layer residual network of the published runs, as a Flax-like tree."""

import jax
import jax.numpy as jnp
import numpy as np


def r20_shapes(classes=10):
    """{"stem": .., "stage0": {"block0": ..}, .., "dense": ..} with shapes for leaves."""

    def leaf(*shape):
        return jax.ShapeDtypeStruct(shape, jnp.float32)

    def convolution(window, into, out):
        return {
            "conv": {"kernel": leaf(window, window, into, out), "bias": leaf(out)},
            "norm": {"scale": leaf(out), "bias": leaf(out), "threshold": leaf(out)},
        }

    params = {"stem": convolution(3, 3, 16)}
    into = 16
    for stage, width in enumerate((16, 32, 64)):
        blocks = {}
        for block in range(3):
            blocks[f"block{block}"] = {
                "first": convolution(3, into, width),
                "second": convolution(3, width, width),
            }
            if into != width:
                blocks[f"block{block}"]["shortcut"] = convolution(1, into, width)
            into = width
        params[f"stage{stage}"] = blocks
    params["dense"] = {"kernel": leaf(64, classes), "bias": leaf(classes)}
    return params


def r20_zeros(classes=10):
    return jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), r20_shapes(classes))
