"""3x3 convolutions in fewer products: the minimal filtering of Winograd, F(2x2, 3x3).

A tile of 2x2 outputs, y, needs the 4x4 inputs around it, d. With the kernel k of one pair of
channels,

    y = A' [(G k G') * (B' d B)] A,      * element by element:

16 products where the sum over windows takes 36. Over channels and tiles, each of the 16 elements
is a product of matrices, tiles x in and in x out. Every constant is 0, 1 or 1/2, so float32 loses
nothing that matters (tests hold 1e-5). The gradient of the image is the convolution with the
kernel turned around; that of the kernel gains nothing from this form.

Reference:
  Lavin and Gray, Fast algorithms for convolutional neural networks, CVPR 2016.
"""

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.types import Array

_G = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.0, 0.0, 1.0]], np.float32)


def suits(x: Array, kernel: Array, stride: int) -> bool:
    """Whether the image is made of tiles, with channels enough for products of matrices to pay."""
    even = x.shape[1] % 2 == 0 and x.shape[2] % 2 == 0
    wide = min(kernel.shape[2:]) >= 32 and x.dtype.itemsize >= 4
    return stride == 1 and kernel.shape[:2] == (3, 3) and even and wide


def convolve(x: Array, kernel: Array) -> Array:
    """The outputs of every tile; one pixel of zeros around the image."""
    count, height, width, _ = x.shape
    g = _G.astype(kernel.dtype)
    weights = jnp.einsum("ai,bj,ijcd->abcd", g, g, kernel)
    products = [
        [tile @ weight for tile, weight in zip(*pair, strict=True)]
        for pair in zip(_inputs(x), weights, strict=True)
    ]
    columns = zip(*(_sum_outputs(*row) for row in products), strict=True)  # A' from the right
    y = [_sum_outputs(*column) for column in columns]  # and from the left
    rows = jnp.stack([jnp.stack(row, axis=3) for row in zip(*y, strict=True)], axis=2)
    return rows.reshape(count, height, width, -1)


def image_gradient(dy: Array, kernel: Array) -> Array:
    """With respect to x."""
    return convolve(dy, jnp.flip(kernel, (0, 1)).swapaxes(2, 3))


def _inputs(x: Array) -> list[list[Array]]:
    """B' d B, element by element: 4 rows of 4 images of tiles."""
    _, height, width, _ = x.shape
    around = [(0, 0, 0), (1, 1, 0), (1, 1, 0), (0, 0, 0)]
    x = jax.lax.pad(x, jnp.zeros((), x.dtype), around)
    rows = _combine_inputs(*(x[:, i : i + height : 2] for i in range(4)))
    return [_combine_inputs(*(row[:, :, j : j + width : 2] for j in range(4))) for row in rows]


def _combine_inputs(d0: Array, d1: Array, d2: Array, d3: Array) -> list[Array]:
    return [d0 - d2, d1 + d2, d2 - d1, d1 - d3]


def _sum_outputs(m0: Array, m1: Array, m2: Array, m3: Array) -> tuple[Array, Array]:
    return m0 + m1 + m2, m1 - m2 - m3
