"""A small convolutional network without norms or shortcuts."""

from collections.abc import Sequence

from flax import nnx

from pxsgmcmc.errors import check_count
from pxsgmcmc.models._checks import check_choice, check_image_shape, check_widths
from pxsgmcmc.models._from_nnx import from_nnx
from pxsgmcmc.models._layers import ACTIVATIONS, Conv, mean_over_pixels
from pxsgmcmc.models.model import Model
from pxsgmcmc.types import Array


def cnn(widths: Sequence[int] = (16, 32), classes: int = 10, *, activation: str = "swish") -> Model:
    """3x3 convolutions, all but the first halving the image, a mean over pixels, a head.

    Args:
      widths: channels of the convolutions, first to last.
      classes: how many logits.
      activation: swish, relu, gelu or tanh.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> model = cnn(widths=(4, 8), classes=3)
      >>> x = jnp.zeros((5, 8, 8, 1))
      >>> params = jax.eval_shape(model.init, jax.random.key(0), x)
      >>> jax.eval_shape(model.apply, params, x).shape
      (5, 3)
    """
    widths = check_widths("widths", widths, at_least=1)
    check_count("classes", classes, at_least=1)
    check_choice("activation", activation, ACTIVATIONS)

    def network(shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        check_image_shape(shape)
        return CNN(shape[-1], widths, classes, activation, rngs)

    return from_nnx("cnn", network, input_layer="conv1", logits_layer="head", convolutional=True)


class CNN(nnx.Module):
    """Convolutions named conv1, conv2, ..., and a head."""

    def __init__(self, channels, widths, classes, activation, rngs: nnx.Rngs):
        self.convs = len(widths)
        self.activation = activation
        for number, width in enumerate(widths, start=1):
            conv = Conv(channels, width, 3, 1 if number == 1 else 2)
            setattr(self, f"conv{number}", conv)
            channels = width
        self.head = nnx.Linear(channels, classes, rngs=rngs)

    def __call__(self, x: Array) -> Array:
        """Images to logits."""
        for number in range(1, self.convs + 1):
            x = ACTIVATIONS[self.activation](getattr(self, f"conv{number}")(x))
        return self.head(mean_over_pixels(x))
