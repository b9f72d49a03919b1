"""Residual networks with filter response normalisation and swish.

Depth 20 and width 16 is R20-FRN-Swish, the network of Izmailov et al. (2021): a stem, three stages
of (depth - 2) / 6 blocks whose width doubles while the image halves, a mean over pixels, a head.
"""

from typing import Literal

from flax import nnx

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.models._checks import check_choice, check_image_shape
from pxsgmcmc.models._from_nnx import from_nnx
from pxsgmcmc.models._layers import (
    Conv,
    ConvNorm,
    FilterResponseNorm,
    mean_over_pixels,
    swish,
)
from pxsgmcmc.models.model import Model
from pxsgmcmc.types import Array

_HEAD_GAIN = {"lecun": 1.0, "he": 2.0}


def resnet_frn(
    depth: int = 20,
    width: int = 16,
    classes: int = 10,
    *,
    head_init: Literal["lecun", "he"] = "lecun",
) -> Model:
    """A residual network for images of any size.

    Args:
      depth: 6 n + 2 layers for n blocks a stage: 8, 14, 20, ...
      width: channels of the first stage; the second has twice, the third four times as many.
      classes: how many logits.
      head_init: how the head starts. The reference runs use "lecun"; their paper says "he".

    Example:
      >>> import jax, jax.numpy as jnp
      >>> model = resnet_frn(depth=8, width=4)
      >>> x = jnp.zeros((5, 8, 8, 1))
      >>> params = jax.eval_shape(model.init, jax.random.key(0), x)
      >>> jax.eval_shape(model.apply, params, x).shape
      (5, 10)

    Reference:
      Izmailov, Vikram, Hoffman and Wilson, What are Bayesian neural network posteriors really
      like?, ICML 2021.
    """
    check_count("depth", depth, at_least=8)
    check_count("width", width, at_least=1)
    check_count("classes", classes, at_least=1)
    if depth % 6 != 2:
        raise UserError(f"`depth` must be 6 n + 2, such as 8, 14 or 20, got {depth!r}.")
    check_choice("head_init", head_init, _HEAD_GAIN)

    def network(shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        check_image_shape(shape)
        return ResNet(shape[-1], width, (depth - 2) // 6, classes, rngs)

    return from_nnx(
        "resnet_frn",
        network,
        input_layer="stem/conv",
        logits_layer="head",
        convolutional=True,
        head_gain=_HEAD_GAIN[head_init],
    )


class ResNet(nnx.Module):
    """The whole network."""

    def __init__(self, channels, width, blocks, classes, rngs: nnx.Rngs):
        self.stem = ConvNorm(channels, width, 3)
        self.stage1 = Stage(width, width, blocks, stride=1)
        self.stage2 = Stage(width, 2 * width, blocks, stride=2)
        self.stage3 = Stage(2 * width, 4 * width, blocks, stride=2)
        self.head = nnx.Linear(4 * width, classes, rngs=rngs)

    def __call__(self, x: Array) -> Array:
        """Images to logits."""
        x = swish(self.stem(x))
        x = self.stage3(self.stage2(self.stage1(x)))
        return self.head(mean_over_pixels(x))


class Stage(nnx.Module):
    """Blocks of one width; the first may halve the image. Named block1, block2, ..."""

    def __init__(self, inputs: int, outputs: int, blocks: int, *, stride: int):
        self.blocks = blocks
        self.block1 = ResidualBlock(inputs, outputs, stride)
        for number in range(2, blocks + 1):
            setattr(self, f"block{number}", ResidualBlock(outputs, outputs, 1))

    def __call__(self, x: Array) -> Array:
        """All blocks in turn."""
        for number in range(1, self.blocks + 1):
            x = getattr(self, f"block{number}")(x)
        return x


class ResidualBlock(nnx.Module):
    """Two convolutions and a way around them, a 1x1 convolution where the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        self.conv1 = Conv(inputs, outputs, 3, stride)
        self.norm1 = FilterResponseNorm(outputs)
        self.conv2 = Conv(outputs, outputs, 3)
        self.norm2 = FilterResponseNorm(outputs)
        reshapes = stride > 1 or inputs != outputs
        self.shortcut = ConvNorm(inputs, outputs, 1, stride) if reshapes else None

    def __call__(self, x: Array) -> Array:
        """swish(around + through)."""
        around = x if self.shortcut is None else self.shortcut(x)
        through = swish(self.norm1(self.conv1(x)))
        return swish(self.norm2(self.conv2(through)) + around)
