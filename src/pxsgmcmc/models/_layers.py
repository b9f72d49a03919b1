"""The layers that are not Flax's: pure functions, and the modules around them.

Images are (batch, height, width, channels), kernels (height, width, in, out). The modules
around the functions lay out their parameters as zeros; where these start is said in `start.py`.
"""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from pxsgmcmc.models._convolution import convolve
from pxsgmcmc.types import Array


def _swish_gradient(x: Array, dy: Array) -> tuple[Array]:
    # Without the barrier XLA keeps the sigmoid of every layer until here.
    s = jax.nn.sigmoid(jax.lax.optimization_barrier(x))
    return (dy * (s * (1.0 + x * (1.0 - s))),)


swish: Any = jax.custom_vjp(jax.nn.swish)  # x sigmoid(x), for deep networks: it keeps less
swish.defvjp(lambda x: (jax.nn.swish(x), x), _swish_gradient)

# Shallow networks can spare the memory, and keep forward-mode differentiation.
ACTIVATIONS = {"swish": jax.nn.swish, "relu": jax.nn.relu, "gelu": jax.nn.gelu, "tanh": jnp.tanh}


def filter_response_norm(
    x: Array, scale: Array, bias: Array, threshold: Array, epsilon: float = 1e-6
) -> Array:
    """Each channel of each image over its root mean square, shifted, and cut off below.

    max(scale x / sqrt(mean over pixels of x^2 + epsilon) + bias, threshold); no statistics of the
    batch are involved (Singh and Krishnan, 2020).

    The gradient is written out: what JAX derives passes over the image far more often. Where the
    two sides of the maximum are equal, it goes to the threshold.

    Example:
      >>> x = jnp.array([3.0, -3.0]).reshape(1, 1, 2, 1)
      >>> y = filter_response_norm(x, jnp.full(1, 2.0), jnp.ones(1), jnp.zeros(1))
      >>> [round(value, 3) for value in y.ravel().tolist()]
      [3.0, 0.0]
    """
    return _norm(x, scale, bias, threshold, epsilon)


@partial(jax.jit, static_argnums=4)
def _norm_and_kept(
    x: Array, scale: Array, bias: Array, threshold: Array, epsilon: float
) -> tuple[Array, tuple[Array, ...]]:
    inverse = jax.lax.rsqrt(jnp.mean(x * x, axis=(1, 2), keepdims=True) + epsilon)
    normed = x * (inverse * _per_channel(scale)) + _per_channel(bias)
    return jnp.maximum(normed, _per_channel(threshold)), (x, inverse, scale, bias, threshold)


@partial(jax.jit, static_argnums=0)
def _norm_gradient(
    epsilon: float, kept: tuple[Array, ...], dy: Array
) -> tuple[Array, Array, Array, Array]:
    """With r = 1 / sqrt(mean x^2 + epsilon):  dx = r scale dz - x r^3 scale mean(x dz)."""
    del epsilon  # it is in `inverse`
    x, inverse, scale, bias, threshold = kept
    gain = inverse * _per_channel(scale)
    above = x * gain + _per_channel(bias) > _per_channel(threshold)
    dz = jnp.where(above, dy, jnp.zeros((), dy.dtype))
    by_image = jnp.sum(x * dz, axis=(1, 2), keepdims=True) * inverse
    pixels = x.shape[1] * x.shape[2]
    dx = gain * dz - x * (gain * inverse * by_image / pixels)
    dscale, dbias, dthreshold = (jnp.sum(a, axis=(0, 1, 2)) for a in (by_image, dz, dy - dz))
    return dx, dscale, dbias, dthreshold


_norm: Any = jax.custom_vjp(lambda *given: _norm_and_kept(*given)[0], nondiff_argnums=(4,))
_norm.defvjp(_norm_and_kept, _norm_gradient)


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
