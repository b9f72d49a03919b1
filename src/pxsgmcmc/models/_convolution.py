"""Convolution, with forms that suit a CPU; accelerators keep XLA's own.

XLA on a CPU is good at the convolution of large images and poor at two other things: the gradient
of the kernel, which takes it several times as long as the convolution, and images of a few pixels.
Both are a product of matrices once the windows of the image are laid out as rows:

    y = rows(x) K,      dK = rows(x)' dy,      one row a pixel of y, one column a weight.

The rows of a whole batch would fill the memory many times over, so the gradient takes a block of
images at a time that stays in the cache. Values and gradients agree with XLA's to rounding.
docs/performance.md has the measurements.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from pxsgmcmc.models import _winograd as winograd
from pxsgmcmc.types import Array

BLOCK_BYTES = 3 << 19  # of rows at a time in the gradient of the kernel
SMALL_BYTES = 2 << 20  # of rows in all, up to which the convolution itself is a product of matrices


def convolve(x: Array, kernel: Array, stride: int = 1) -> Array:
    """Convolution with zeros around the image, so that n pixels give ceil(n / stride).

    An odd zero goes after the image: 3x3 with stride 2 pads an even side by none before, one after.

    Args:
      x: images, (batch, height, width, in).
      kernel: (height, width, in, out).
      stride: pixels from one window to the next.

    Example:
      >>> convolve(jnp.ones((1, 4, 4, 1)), jnp.ones((3, 3, 1, 1)), 2)[0, :, :, 0].tolist()
      [[9.0, 6.0], [6.0, 4.0]]
    """
    return _convolve(x, kernel, stride)


def by_xla(x: Array, kernel: Array, stride: int) -> Array:
    """XLA's own convolution."""
    return jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


@partial(jax.jit, static_argnums=2)  # so that layers of one shape are traced once
def _forward(x: Array, kernel: Array, stride: int) -> Array:
    if not _batch_is_known(x):
        return by_xla(x, kernel, stride)
    if _rows_bytes(x, kernel, stride) <= SMALL_BYTES:
        on_cpu = partial(_product, stride=stride, zeros=_zeros(x, kernel, stride))
    elif winograd.suits(x, kernel, stride):
        on_cpu = winograd.convolve
    else:
        return by_xla(x, kernel, stride)
    # By the device that the program is for, which need not be JAX's default one.
    return jax.lax.platform_dependent(x, kernel, cpu=on_cpu, default=partial(by_xla, stride=stride))


def _keep(x: Array, kernel: Array, stride: int) -> tuple[Array, tuple[Array, Array]]:
    return _forward(x, kernel, stride), (x, kernel)


@partial(jax.jit, static_argnums=0)
def _pull_back(stride: int, kept: tuple[Array, Array], dy: Array) -> tuple[Array, Array]:
    def on_cpu(x: Array, kernel: Array, dy: Array) -> tuple[Array, Array]:
        return _image_gradient(x, dy, kernel, stride), _kernel_gradient(x, dy, kernel, stride)

    def elsewhere(x: Array, kernel: Array, dy: Array) -> tuple[Array, Array]:
        return jax.vjp(partial(by_xla, stride=stride), x, kernel)[1](dy)

    return jax.lax.platform_dependent(*kept, dy, cpu=on_cpu, default=elsewhere)


_convolve: Any = jax.custom_vjp(_forward, nondiff_argnums=(2,))
_convolve.defvjp(_keep, _pull_back)


def _batch_is_known(x: Array) -> bool:
    """Whether blocks can be sized by it: `jax.export` traces for batches of any size at once."""
    return isinstance(x.shape[0], int)


def _product(x: Array, kernel: Array, stride: int, zeros: list[tuple[int, int]]) -> Array:
    rows = _rows(x, (kernel.shape[0], kernel.shape[1]), stride, zeros)
    y = rows.reshape(-1, rows.shape[-1]) @ kernel.reshape(rows.shape[-1], -1)
    return y.reshape(*rows.shape[:3], -1)


def _image_gradient(x: Array, dy: Array, kernel: Array, stride: int) -> Array:
    """The convolution of dy, its pixels `stride` apart, with the kernel turned around."""
    if stride * stride * _rows_bytes(x, kernel, stride) > SMALL_BYTES:
        if winograd.suits(x, kernel, stride):
            return winograd.image_gradient(dy, kernel)
        return jax.vjp(lambda x: by_xla(x, kernel, stride), x)[1](dy)[0]
    apart = [(0, 0, 0), (0, 0, stride - 1), (0, 0, stride - 1), (0, 0, 0)]
    dy = jax.lax.pad(dy, jnp.zeros((), dy.dtype), apart)
    zeros = []
    for side, (before, _) in enumerate(_zeros(x, kernel, stride)):
        window, image, there = kernel.shape[side], x.shape[side + 1], dy.shape[side + 1]
        first = window - 1 - before
        zeros.append((first, image + window - 1 - first - there))
    return _product(dy, jnp.flip(kernel, (0, 1)).swapaxes(2, 3), 1, zeros)


def _kernel_gradient(x: Array, dy: Array, kernel: Array, stride: int) -> Array:
    """rows(dy)' rows(x), summed over blocks of images; this order is the faster product.

    With stride 1 a weight of the window is a shift of x against dy. The shifts along the height are
    laid out from x and those along the width from dy: for 3x3, three of each in place of nine of x.
    """
    height, width, into, out = kernel.shape
    vertical, (before, after) = zeros = _zeros(x, kernel, stride)
    dtype = jnp.float32 if x.dtype.itemsize < 4 else x.dtype

    def product(x: Array, dy: Array) -> Array:
        if stride == 1:
            x = _rows(x, (height, 1), 1, [vertical, (0, 0)])
            dy = _rows(dy, (1, width), 1, [(0, 0), (after, before)])
        else:
            x = _rows(x, (height, width), stride, zeros)
        dy, x = (a.reshape(-1, a.shape[-1]) for a in (dy, x))
        return jnp.matmul(dy.T, x, preferred_element_type=dtype)

    laid_out = height * into + width * out if stride == 1 else height * width * into
    image_bytes = dy.shape[1] * dy.shape[2] * laid_out * x.dtype.itemsize
    total = _sum_over_blocks(product, x, dy, max(1, BLOCK_BYTES // image_bytes))
    if stride == 1:  # the first shift of dy belongs to the last column of the window
        total = jnp.flip(total.reshape(width, out, height, into), 0).transpose(2, 0, 3, 1)
    else:
        total = total.reshape(out, height, width, into).transpose(1, 2, 3, 0)
    return total.astype(kernel.dtype)


def _sum_over_blocks(
    product: Callable[[Array, Array], Array], x: Array, dy: Array, block: int
) -> Array:
    """product(x, dy), `block` images at a time."""
    if len(x) <= block:
        return product(x, dy)
    whole = len(x) // block * block

    def add(total: Array, images: tuple[Array, Array]) -> tuple[Array, None]:
        return total + product(*images), None

    xs, dys = (a[:whole].reshape(-1, block, *a.shape[1:]) for a in (x, dy))
    like = jax.eval_shape(product, x, dy)
    total, _ = jax.lax.scan(add, jnp.zeros(like.shape, like.dtype), (xs, dys))
    return total if whole == len(x) else total + product(x[whole:], dy[whole:])


def _zeros(x: Array, kernel: Array, stride: int) -> list[tuple[int, int]]:
    """Before and after each side of the image."""
    missing = [
        max((-(-there // stride) - 1) * stride + size - there, 0)
        for there, size in zip(x.shape[1:3], kernel.shape[:2], strict=True)
    ]
    return [(zeros // 2, zeros - zeros // 2) for zeros in missing]


def _rows(
    x: Array, window: tuple[int, int], stride: int, zeros: Sequence[tuple[int, int]]
) -> Array:
    """The windows of an image, (batch, height, width, pixels of a window and their channels)."""
    zero = jnp.zeros((), x.dtype)
    x = jax.lax.pad(x, zero, [(0, 0, 0), *((lo, hi, 0) for lo, hi in zeros), (0, 0, 0)])
    height, width = window
    rows, columns = x.shape[1] - height + 1, x.shape[2] - width + 1
    pieces = [
        x[:, i : i + rows : stride, j : j + columns : stride]
        for i in range(height)
        for j in range(width)
    ]
    return jnp.concatenate(pieces, axis=-1)


def _rows_bytes(x: Array, kernel: Array, stride: int) -> int:
    pixels = -(-x.shape[1] // stride) * -(-x.shape[2] // stride)
    return len(x) * pixels * math.prod(kernel.shape[:3]) * x.dtype.itemsize
