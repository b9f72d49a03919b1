"""The factors that multiply a weight: full matrices, square or not, or diagonal plus low rank."""

import math
from functools import partial, reduce
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.types import Array, Key, Tree


class LowRank(NamedTuple):
    """The matrix diag(diagonal) + left^T right, in p + 2 p r numbers instead of p^2."""

    diagonal: Array  # (p,)
    left: Array  # (r, p)
    right: Array  # (r, p)


Factor: TypeAlias = Array | LowRank


def identity(width: int, dtype: jnp.dtype) -> Array:
    """The full factor every chain starts from."""
    return jnp.asarray(np.eye(width, dtype=dtype))  # a program for each width would be compiled


def low_rank_identity(key: Key, width: int, rank: int, dtype: jnp.dtype) -> LowRank:
    """The identity as diagonal plus low rank: right = 0, left ~ N(0, 1 / rank).

    With both zero the low-rank part would sit on a saddle: neither side would have a gradient.
    """
    left = jax.random.normal(key, (rank, width), float) / math.sqrt(rank)
    return LowRank(jnp.ones(width, dtype), left.astype(dtype), jnp.zeros((rank, width), dtype))


def wide_identity(key: Key, width: int, inner: int, count: int, dtype: jnp.dtype) -> list[Array]:
    """Factors (inner, width), (inner, inner), .., (width, inner) whose product is the identity.

    Each is the identity, padded. What the first one is padded with is random, N(0, 1 / width): with
    zeros there and in the last one the added channels would sit on a saddle.
    """
    more = jax.random.normal(key, (inner - width, width), float) / math.sqrt(width)
    first = jnp.concatenate([jnp.eye(width, dtype=dtype), more.astype(dtype)])
    middle = [jnp.eye(inner, dtype=dtype) for _ in range(count - 2)]
    return [first, *middle, jnp.eye(width, inner, dtype=dtype)]


def as_square(factors: tuple[Factor, ...]) -> tuple[Factor, ...]:
    """The same factors of one side, P_1 first, as square ones: those that are not, multiplied."""
    if all(isinstance(one, LowRank) or one.shape[0] == one.shape[1] for one in factors):
        return factors
    return (reduce(lambda product, one: _product(one, product), map(as_matrix, factors)),)


def as_matrix(factor: Factor) -> Array:
    """The factor written out, (p, p) unless it is not square.

    Example:
      >>> as_matrix(LowRank(jnp.ones(2), jnp.ones((1, 2)), jnp.zeros((1, 2)))).tolist()
      [[1.0, 0.0], [0.0, 1.0]]
    """
    if not isinstance(factor, LowRank):
        return factor
    return jnp.diag(factor.diagonal) + _product(factor.left.T, factor.right)


def transpose(factor: Factor) -> Factor:
    """The transposed factor, in the same form."""
    if not isinstance(factor, LowRank):
        return factor.T
    return LowRank(factor.diagonal, factor.right, factor.left)


@partial(jax.jit, static_argnames="axes")  # so that layers of one shape are traced once
def multiply(factor: Factor, leaf: Array, axes: tuple[int, ...]) -> Array:
    """Multiply `leaf` by `factor` along `axes`, taken together as one axis of length p.

    Example:
      >>> multiply(jnp.array([[0.0, 2.0], [1.0, 0.0]]), jnp.array([[1.0], [3.0]]), (0,)).tolist()
      [[6.0], [1.0]]
    """
    front = jnp.moveaxis(leaf, axes, range(len(axes)))
    columns = front.reshape(math.prod(leaf.shape[axis] for axis in axes), -1)
    if isinstance(factor, LowRank):
        diagonal, left, right = (part.astype(leaf.dtype) for part in factor)
        product = diagonal[:, None] * columns + _product(left.T, _product(right, columns))
    else:
        product = _product(factor.astype(leaf.dtype), columns)
    return jnp.moveaxis(product.reshape(front.shape), range(len(axes)), axes)


def log_abs_det(factor: Factor) -> Array:
    """Logarithm of |det| of the factor, for the change of variables behind the exact prior."""
    return jnp.linalg.slogdet(as_matrix(factor).astype(float))[1]


def _product(a: Array, b: Array) -> Array:
    # Reduced-precision units (TF32, bfloat16 passes) would round the weights at every step.
    return jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST)


def less_identity(factors: Tree) -> Tree:
    """Factors minus the identity, of low-rank ones minus that in their diagonal."""

    def less(factor: Any) -> Any:
        if isinstance(factor, LowRank):
            return factor._replace(diagonal=factor.diagonal - jnp.ones_like(factor.diagonal))
        return factor - jnp.eye(*factor.shape, dtype=factor.dtype)

    return jax.tree.map(less, factors, is_leaf=lambda node: isinstance(node, LowRank))
