"""Random crops and flips on the device, inside the jitted step.

    augment(fold_in(key, step), images)

Give it a key that is a function of the step number, never of the position within a cycle: then no
pattern repeats and resuming gives the same images. Pixels are those stored (uint8), so the border
is black before normalisation, as is usual for CIFAR.

One gather reads each output pixel from the padded batch. For 256 images of 32 x 32 x 3 on a
desktop processor that takes 0.6 ms; cutting slices image by image took 0.7 ms, multiplying by
one-hot matrices 2.9 ms.
"""

import jax
import jax.numpy as jnp

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.types import Array, Key


def augment(key: Key, images: Array, *, pad: int = 4, flip: bool = True) -> Array:
    """Pad with zeros, crop to the old size at a random place, mirror half of the images.

    Args:
      key: a fresh one for each step.
      images: (n, height, width, channels), any dtype, which is kept.
      pad: pixels added on every side; offsets of the crop are uniform on 0 .. 2 pad, by themselves
        for rows and columns. 4 suits 32 x 32 images, 1 suits 8 x 8.
      flip: mirror left and right with probability one half. Not for digits.

    Example:
      >>> images = jnp.ones((2, 8, 8, 1), jnp.uint8)
      >>> augment(jax.random.key(0), images, pad=1).shape
      (2, 8, 8, 1)
    """
    check_count("pad", pad)
    if images.ndim != 4:
        raise UserError(
            f"`images` must have the shape (n, height, width, channels), got {tuple(images.shape)}."
        )
    offset_key, flip_key = jax.random.split(key)
    offsets = jax.random.randint(offset_key, (len(images), 2), 0, 2 * pad + 1)
    flips = jax.random.bernoulli(flip_key, 0.5 if flip else 0.0, (len(images),))
    return crop_and_flip(images, offsets, flips, pad=pad)


def crop_and_flip(images: Array, offsets: Array, flips: Array, *, pad: int) -> Array:
    """The crop of each zero-padded image at its offset, mirrored where asked.

    Args:
      images: (n, height, width, channels).
      offsets: (n, 2) integers in 0 .. 2 pad, row and column; `pad` leaves the image in place.
      flips: (n,) bool.
      pad: pixels added on every side.

    Example:
      >>> image = jnp.arange(1, 5).reshape(1, 2, 2, 1)
      >>> crop_and_flip(image, jnp.array([[0, 1]]), jnp.array([True]), pad=1)[0, :, :, 0].tolist()
      [[0, 0], [2, 1]]
    """
    n, height, width, _ = images.shape
    padded = jnp.pad(images, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    rows = offsets[:, :1] + jnp.arange(height)[None, :]  # (n, height)
    column = jnp.arange(width)[None, :]
    columns = offsets[:, 1:] + jnp.where(flips[:, None], width - 1 - column, column)
    return padded[jnp.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]]
