"""The accept-reject test shared by the samplers that have one."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from pxsgmcmc.tree import dot, map_like, widen
from pxsgmcmc.types import Array, Batch, Key, Tree


def energy_and_gradient(energy: Callable[..., Array]) -> Callable[..., tuple[Array, Tree]]:
    """`jax.value_and_grad` with the energy in at least float32, so that a test can use it."""
    return jax.value_and_grad(lambda *args: widen(energy(*args)))


def energy_difference(
    energy: Callable[..., Array],
    new: Tree,
    old: Tree,
    energies: tuple[Array, Array],
    *batch: Batch,
) -> Array:
    """U(new) - U(old), part by part where the energy has a `difference(new, old, *batch)`.

    Energies of networks are large and their differences near one: in float32 the difference of two
    totals would lose the digits that decide (Izmailov et al., 2021).
    """
    difference = getattr(energy, "difference", None)
    if difference is not None:
        return widen(difference(new, old, *batch))
    energy_new, energy_old = energies
    return energy_new - energy_old


def kinetic_difference(new: Tree, old: Tree, mass: Tree) -> Array:
    """(|new|^2 - |old|^2) / (2 M) without cancellation between two large sums."""
    less = map_like(lambda m, before, M: (m - before) / M, new, old, mass)
    more = jax.tree.map(jnp.add, new, old)
    return 0.5 * dot(less, more)


def metropolis_test(key: Key, change: Array, temperature: float) -> tuple[Array, Array]:
    """Probability min(1, exp(-change / T)) and its outcome; a change that is not finite is refused.

    At T = 0 the limit is taken: downhill is accepted, uphill refused.
    """
    if temperature > 0.0:
        probability = jnp.exp(jnp.minimum(0.0, -change / temperature))
    else:
        probability = (change <= 0.0).astype(float)
    probability = jnp.where(jnp.isfinite(change), probability, 0.0)
    return probability, jax.random.uniform(key, (), probability.dtype) < probability
