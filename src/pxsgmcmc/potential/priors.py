"""Priors on the base, on the factors, and on the collapsed weights."""

import math
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from pxsgmcmc.errors import UserError, check_number
from pxsgmcmc.expansion.factors import LowRank, log_abs_det
from pxsgmcmc.expansion.position import Expanded, collapse
from pxsgmcmc.tree import broadcast_prefix, check_prefix, widen
from pxsgmcmc.types import Array, Tree

FEW = 16  # leaves; more are laid end to end before they are summed


class Normal(NamedTuple):
    """A normal prior; made by `normal`."""

    variance: Tree
    at: Literal["zero", "identity"]


class Exact(NamedTuple):
    """A normal prior on the collapsed weights; made by `exact`."""

    variance: Tree
    temperature: float


def normal(variance: Tree, *, at: Literal["zero", "identity"] = "zero") -> Normal:
    """A normal prior, independent over coordinates.

    Args:
      variance: a number, or a tree prefix of what it stands on (see `by_path` for patterns).
      at: "zero", or "identity" for factors that should stay near it.

    Example:
      >>> normal(0.02).variance
      0.02
    """
    check_prefix("variance", variance, above=True)
    if at not in ("zero", "identity"):
        raise UserError(f"`at` must be 'zero' or 'identity', got {at!r}.")
    return Normal(variance, at)


def exact(variance: Tree, *, temperature: float = 1.0) -> Exact:
    """A normal prior on W = collapse(q), with the log-determinants that make it one.

    The marginal of W is then the posterior of the unexpanded model, whatever the factor prior; the
    factors are independent of W and follow their prior. Singular factors have infinite energy.

    Args:
      variance: a number, or a tree prefix of the model's parameters.
      temperature: that of the sampler; the volume of a change of variables is not tempered.
    """
    check_prefix("variance", variance, above=True)
    check_number("temperature", temperature, at_least=0.0)
    return Exact(variance, temperature)


def prior_energies(
    prior: Normal | Exact, factor_prior: Normal | None, position: Tree, old: Tree | None = None
) -> tuple[Array, Array]:
    """Energies of the prior and of the factor prior, relative to those of `old` if given."""
    base, factors = _split(position)
    old_base, old_factors = (None, None) if old is None else _split(old)
    if isinstance(prior, Exact):
        energy = _quadratic(
            collapse(position), prior.variance, None if old is None else collapse(old)
        )
        volume = _log_volume(position) - (0.0 if old is None else _log_volume(old))
        energy = energy - prior.temperature * volume
    else:
        energy = _quadratic(base, prior.variance, old_base)
    if factors is None or factor_prior is None:
        return energy, jnp.zeros_like(energy)
    if factor_prior.at == "identity":
        factors = _less_identity(factors)
        old_factors = None if old_factors is None else _less_identity(old_factors)
    return energy, _quadratic(factors, factor_prior.variance, old_factors)


def _split(position: Tree) -> tuple[Tree, Tree | None]:
    if isinstance(position, Expanded):
        return position.base, position.factors
    return position, None


def _quadratic(tree: Tree, variance: Tree, old: Tree | None) -> Array:
    """Sum of x^2 / (2 variance) over coordinates, less the same of `old` without cancellation."""
    leaves, olds = jax.tree.leaves(tree), jax.tree.leaves(old)
    variances = jax.tree.leaves(broadcast_prefix(variance, tree, "variance"))
    total = jnp.zeros((), float)
    for places in _alike(variances):
        x = _end_to_end([leaves[place] for place in places])
        before = _end_to_end([olds[place] for place in places]) if olds else None
        squares = x * x if before is None else (x - before) * (x + before)
        total = total + jnp.sum(squares) / (2.0 * jnp.asarray(variances[places[0]], x.dtype))
    return total


def _alike(values: list[Any]) -> list[list[int]]:
    """The places of equal numbers that are summed together.

    What is traced stands alone, its value being unknown; so do the leaves of a small network, which
    run faster one by one.
    """
    found: dict[Any, list[int]] = {}
    for place, value in enumerate(values):
        together = len(values) > FEW and isinstance(value, int | float)
        known = value if together else ("alone", place)
        found.setdefault(known, []).append(place)
    return list(found.values())


def _end_to_end(leaves: list[Array]) -> Array:
    """One vector, for one sum: a sum for each of a hundred leaves takes longer to trace and run."""
    return jnp.concatenate([jax.lax.reshape(widen(leaf), (leaf.size,)) for leaf in leaves])


def _less_identity(factors: Tree) -> Tree:
    def less(factor: Any) -> Any:
        if isinstance(factor, LowRank):
            return factor._replace(diagonal=factor.diagonal - jnp.ones_like(factor.diagonal))
        return factor - jnp.eye(factor.shape[0], dtype=factor.dtype)

    return jax.tree.map(less, factors, is_leaf=lambda node: isinstance(node, LowRank))


def _log_volume(position: Tree) -> Array:
    """Logarithm of |dW/dV| at fixed factors: each factor counts once per column it multiplies."""
    total = jnp.zeros((), float)
    if not isinstance(position, Expanded):
        return total
    for layer in position.layers:
        factors = position.factors[layer.name]
        for side, width in (("out", layer.out_width), ("into", layer.into_width)):
            if width is None:
                continue
            columns = sum(
                math.prod(leaf.shape) // width for leaf in layer.leaves if getattr(leaf, side)
            )
            for factor in getattr(factors, side):
                total = total + columns * log_abs_det(factor)
    return total
