"""The layers that are not Flax's: each a pure function, which a faster form may replace.

Images are (batch, height, width, channels), kernels (height, width, in, out). The modules
around the functions lay out their parameters as zeros; where these start is said in `start.py`.
"""

import math

import jax
import jax.numpy as jnp
from flax import nnx

from pxsgmcmc.types import Array

swish = jax.nn.swish  # x sigmoid(x)

ACTIVATIONS = {"swish": swish, "relu": jax.nn.relu, "gelu": jax.nn.gelu, "tanh": jnp.tanh}


def convolve(x: Array, kernel: Array, stride: int = 1) -> Array:
    """Convolution with zeros around the image, so that n pixels give ceil(n / stride).

    An odd zero goes after the image: 3x3 with stride 2 pads an even side by none before, one after.

    Example:
      >>> convolve(jnp.ones((1, 4, 4, 1)), jnp.ones((3, 3, 1, 1)), stride=2)[0, :, :, 0].tolist()
      [[9.0, 6.0], [6.0, 4.0]]
    """
    return jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def filter_response_norm(
    x: Array, scale: Array, bias: Array, threshold: Array, epsilon: float = 1e-6
) -> Array:
    """Each channel of each image over its root mean square, shifted, and cut off below.

    max(scale x / sqrt(mean over pixels of x^2 + epsilon) + bias, threshold); no statistics of the
    batch are involved (Singh and Krishnan, 2020).

    Example:
      >>> x = jnp.array([3.0, -3.0]).reshape(1, 1, 2, 1)
      >>> y = filter_response_norm(x, jnp.full(1, 2.0), jnp.ones(1), jnp.zeros(1))
      >>> [round(value, 3) for value in y.ravel().tolist()]
      [3.0, 0.0]
    """
    mean_square = jnp.mean(x * x, axis=(1, 2), keepdims=True)
    normed = x * jax.lax.rsqrt(mean_square + epsilon)
    return jnp.maximum(normed * _per_channel(scale) + _per_channel(bias), _per_channel(threshold))


class Conv(nnx.Module):
    """A convolution with bias."""

    def __init__(self, inputs: int, outputs: int, window: int, stride: int = 1):
        self.kernel = nnx.Param(jnp.zeros((window, window, inputs, outputs)))
        self.bias = nnx.Param(jnp.zeros(outputs))
        self.stride = stride

    def __call__(self, x: Array) -> Array:
        """(batch, height, width, inputs) -> (batch, height / stride, width / stride, outputs)."""
        return convolve(x, self.kernel[...], self.stride) + _per_channel(self.bias[...])


class FilterResponseNorm(nnx.Module):
    """`filter_response_norm` with its three vectors."""

    def __init__(self, channels: int):
        self.scale = nnx.Param(jnp.zeros(channels))
        self.bias = nnx.Param(jnp.zeros(channels))
        self.threshold = nnx.Param(jnp.zeros(channels))

    def __call__(self, x: Array) -> Array:
        """Normalise images."""
        return filter_response_norm(x, self.scale[...], self.bias[...], self.threshold[...])


class ConvNorm(nnx.Module):
    """A convolution and the norm behind it."""

    def __init__(self, inputs: int, outputs: int, window: int, stride: int = 1):
        self.conv = Conv(inputs, outputs, window, stride)
        self.norm = FilterResponseNorm(outputs)

    def __call__(self, x: Array) -> Array:
        """Convolve and normalise images."""
        return self.norm(self.conv(x))


def mean_over_pixels(x: Array) -> Array:
    """(batch, height, width, channels) -> (batch, channels)."""
    return jnp.mean(x, axis=(1, 2))


def flatten(x: Array) -> Array:
    """(batch, ...) -> (batch, features)."""
    return x.reshape(x.shape[0], math.prod(x.shape[1:]))


def _per_channel(vector: Array) -> Array:
    return vector.reshape(1, 1, 1, -1)
