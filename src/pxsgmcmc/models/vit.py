"""A small vision transformer (Dosovitskiy et al., 2021): patches, pre-norm blocks, mean, head."""

import jax
import jax.numpy as jnp
from flax import nnx

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.models._checks import check_image_shape
from pxsgmcmc.models._from_nnx import from_nnx
from pxsgmcmc.models._layers import Conv
from pxsgmcmc.models.model import Model
from pxsgmcmc.types import Array


def vit(
    patch: int = 2, width: int = 32, depth: int = 2, heads: int = 4, classes: int = 10
) -> Model:
    """A transformer over the patches of an image, with learned positions.

    Args:
      patch: side of a patch in pixels; it must divide the sides of the image.
      width: numbers a patch is described by; twice as many inside the dense layers of a block.
      depth: how many blocks.
      heads: of the attention; they must divide the width.
      classes: how many logits.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> model = vit(width=8, depth=1, heads=2)
      >>> x = jnp.zeros((5, 8, 8, 1))
      >>> params = jax.eval_shape(model.init, jax.random.key(0), x)
      >>> jax.eval_shape(model.apply, params, x).shape
      (5, 10)

    Reference:
      Dosovitskiy et al., An image is worth 16x16 words, ICLR 2021.
    """
    settings = {"patch": patch, "width": width, "depth": depth, "heads": heads, "classes": classes}
    for name, value in settings.items():
        check_count(name, value, at_least=1)
    if width % heads:
        raise UserError(f"`heads` must divide `width` = {width}, got {heads!r}.")

    def network(shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        check_image_shape(shape)
        if shape[0] % patch or shape[1] % patch:
            raise UserError(f"`patch` = {patch} must divide the sides of the image, {shape[:2]}.")
        return VisionTransformer(shape, patch, width, depth, heads, classes, rngs)

    return from_nnx(
        "vit",
        network,
        input_layer="patches",
        logits_layer="head",
        convolutional=True,
        gain=1.0,
    )


class VisionTransformer(nnx.Module):
    """The whole network; its blocks are named block1, block2, ..."""

    def __init__(self, shape, patch, width, depth, heads, classes, rngs: nnx.Rngs):
        self.depth = depth
        self.patches = Conv(shape[-1], width, patch, patch)
        self.positions = Positions((shape[0] // patch) * (shape[1] // patch), width)
        for number in range(1, depth + 1):
            setattr(self, f"block{number}", AttentionBlock(width, heads, rngs))
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.head = nnx.Linear(width, classes, rngs=rngs)

    def __call__(self, x: Array) -> Array:
        """Images to logits."""
        x = self.patches(x)  # (batch, rows, columns, width)
        x = self.positions(x.reshape(x.shape[0], -1, x.shape[-1]))  # (batch, patches, width)
        for number in range(1, self.depth + 1):
            x = getattr(self, f"block{number}")(x)
        return self.head(self.norm(x).mean(axis=1))


class Positions(nnx.Module):
    """Adds what is learned about each place in the image."""

    def __init__(self, places: int, width: int):
        self.embedding = nnx.Param(jnp.zeros((places, width)))

    def __call__(self, x: Array) -> Array:
        """(batch, places, width) to the same."""
        return x + self.embedding[...][None]


class AttentionBlock(nnx.Module):
    """Attention, then two dense layers; each normalised before and added to what came in."""

    def __init__(self, width: int, heads: int, rngs: nnx.Rngs):
        self.norm1 = nnx.LayerNorm(width, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(heads, width, decode=False, rngs=rngs)
        self.norm2 = nnx.LayerNorm(width, rngs=rngs)
        self.up = nnx.Linear(width, 2 * width, rngs=rngs)
        self.down = nnx.Linear(2 * width, width, rngs=rngs)

    def __call__(self, x: Array) -> Array:
        """(batch, places, width) to the same."""
        x = x + self.attention(self.norm1(x))
        return x + self.down(jax.nn.gelu(self.up(self.norm2(x))))
