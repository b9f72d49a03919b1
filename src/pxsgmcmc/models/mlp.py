"""Fully connected networks: for features, flattened images, and regression."""

import math
from collections.abc import Sequence

from flax import nnx

from pxsgmcmc.errors import check_count
from pxsgmcmc.models._checks import check_choice, check_widths
from pxsgmcmc.models._from_nnx import from_nnx
from pxsgmcmc.models._layers import ACTIVATIONS, flatten
from pxsgmcmc.models.model import Model
from pxsgmcmc.types import Array


def mlp(
    widths: Sequence[int] = (64, 64),
    classes: int = 10,
    *,
    activation: str = "swish",
    norm: bool = False,
) -> Model:
    """Dense layers with an activation between them.

    Args:
      widths: of the hidden layers, first to last; empty for a linear model.
      classes: how many outputs; a regression has one a target.
      activation: swish, relu, gelu or tanh.
      norm: a layer norm before each activation, behind which the size of weights does not matter.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> model = mlp(widths=(32,), classes=3)
      >>> x = jnp.zeros((5, 4))
      >>> params = model.init(jax.random.key(0), x)
      >>> jax.eval_shape(model.apply, params, x).shape
      (5, 3)
    """
    widths = check_widths("widths", widths)
    check_count("classes", classes, at_least=1)
    check_choice("activation", activation, ACTIVATIONS)

    def network(shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        return MLP(math.prod(shape), widths, classes, activation, norm, rngs)

    first = "layer1" if widths else "head"
    return from_nnx("mlp", network, input_layer=first, logits_layer="head", convolutional=False)


class MLP(nnx.Module):
    """Hidden layers named layer1, layer2, ..., their norms norm1, norm2, ..., and a head."""

    def __init__(self, features, widths, classes, activation, norm, rngs: nnx.Rngs):
        self.hidden = len(widths)
        self.activation, self.norm = activation, norm
        for number, width in enumerate(widths, start=1):
            layer = nnx.Linear(features, width, rngs=rngs)
            setattr(self, f"layer{number}", layer)
            if norm:
                setattr(self, f"norm{number}", nnx.LayerNorm(width, rngs=rngs))
            features = width
        self.head = nnx.Linear(features, classes, rngs=rngs)

    def __call__(self, x: Array) -> Array:
        """Inputs of any shape, flattened, to logits."""
        x = flatten(x)
        for number in range(1, self.hidden + 1):
            x = getattr(self, f"layer{number}")(x)
            x = getattr(self, f"norm{number}")(x) if self.norm else x
            x = ACTIVATIONS[self.activation](x)
        return self.head(x)
