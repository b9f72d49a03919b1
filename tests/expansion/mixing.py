"""Random expanded layers, and what mixing their inputs and outputs outside of them gives."""

import jax
import numpy as np
from flax import nnx

import pxsgmcmc as px

INTO, OUT = 3, 5
collapse = jax.jit(px.collapse)


def expanded_at_random(params):
    """A random position with two factors a side, none left out; shapes will do for `params`."""
    plan = px.plan(params, out=2, into=2, expand_input=True, expand_logits=True)
    rng = np.random.default_rng(7)
    start = px.expand(params, plan)
    return jax.tree.map(lambda x: rng.normal(size=x.shape).astype(x.dtype), start)


def product(matrices, width):
    result = np.eye(width)
    for matrix in matrices:
        result = result @ np.asarray(matrix, np.float64)
    return result.astype(np.float32)


def mixes(position, apply, x, *, layer, channels):
    """(apply(collapsed, x), apply(base, Q x) mixed by P), with channels on the axis `channels`.

    P mixes outputs and bias alike: P (V Q x + a) = W x + b.
    """
    factors = position.factors[layer]
    P = product(reversed(factors.out), factors.out[0].shape[0])
    Q = product(factors.into, x.shape[channels]) if factors.into else None

    def mix(matrix, values):
        moved = np.moveaxis(np.asarray(values), channels, -1) @ matrix.T
        return np.moveaxis(moved, -1, channels)

    apply = jax.jit(apply)
    apart = mix(P, apply(position.base, x if Q is None else mix(Q, x)))
    return np.asarray(apply(collapse(position), x)), apart


def assert_same(pair):
    merged, apart = pair
    assert merged.shape == apart.shape
    np.testing.assert_allclose(merged, apart, rtol=1e-3, atol=1e-4 * np.abs(apart).max())


def is_shape(leaf):
    return isinstance(leaf, jax.ShapeDtypeStruct)


def image(dims, *, channels, first):
    shape = (4, 5, 4)[:dims]
    shape = (channels, *shape) if first else (2, *shape, channels)
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


def split(module):
    """The parameters of an NNX module and how to apply it with others."""
    graph, params, rest = nnx.split(module, nnx.Param, ...)
    return params, lambda params, x: nnx.merge(graph, params, rest)(x)
