"""Antithetic evolution strategies: the meta-gradient from pairs of perturbed samplers.

Of P pairs, each with a task, a start and batches of its own that both sides share,

    gradient = mean over p of (L_p(w + sigma e_p) - L_p(w - sigma e_p)) / (2 sigma) e_p

with e_p ~ N(0, I) is unbiased for the gradient of the mean loss smoothed by sigma. A pair of which
a side is not finite is left out and counted. Adam, after clipping by norm, keeps its moments from
one outer step to the next, and its learning rate falls to zero over the planned outer steps by a
cosine, since so few pairs tell little of the gradient and a constant rate would end wherever their
noise has taken the weights. The published code has a constant rate and starts Adam anew at each
outer step, where it moves every weight by that rate in the direction of its sign.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from pxsgmcmc.meta.settings import MetaSettings
from pxsgmcmc.meta.tasks import Family, FamilyData
from pxsgmcmc.meta.unroll import meta_loss
from pxsgmcmc.samplers.l2e import SHAPES
from pxsgmcmc.schedules import cyclical
from pxsgmcmc.tree import normal_like, sum_of_squares, where
from pxsgmcmc.types import Array, Key, Tree


class MetaState(NamedTuple):
    """What an outer step begins with."""

    step: Array  # () int32, outer steps taken
    weights: Tree
    adam: optax.OptState
    skipped: Array  # () int32, pairs left out so far


class OuterMeasurement(NamedTuple):
    """What an outer step found."""

    plus: Array  # (pairs,) losses of the one side
    minus: Array  # (pairs,) of the other
    skipped: Array  # () int32, pairs left out
    gradient_norm: Array  # () before clipping


def initial_weights(key: Key) -> Tree:
    """Weights of LeCun's scale for the sampler's network, biases of zero."""
    keys = jax.random.split(key, len(SHAPES))
    return {
        layer: {
            "w": jax.random.normal(own, shapes["w"]) / np.sqrt(shapes["w"][0]),
            "b": jnp.zeros(shapes["b"]),
        }
        for own, (layer, shapes) in zip(keys, SHAPES.items(), strict=True)
    }


def optimiser(settings: MetaSettings) -> optax.GradientTransformation:
    """Adam behind a bound on the norm of the gradient, of learning rate 1."""
    return optax.chain(optax.clip_by_global_norm(settings.clip), optax.adam(1.0))


@functools.partial(jax.jit, static_argnums=0)
def initial_state(settings: MetaSettings) -> MetaState:
    """Where a meta-training with this seed begins."""
    weights = initial_weights(jax.random.fold_in(jax.random.key(settings.seed), 0))
    adam = optimiser(settings).init(weights)
    return MetaState(jnp.int32(0), weights, adam, jnp.int32(0))


def losses_of(
    settings: MetaSettings,
    family: Family,
    weights: Tree,
    keys: Key,
    rows: FamilyData,
    sources: Array,
    residuals: Array,
) -> Array:
    """Meta-losses (n,) of n unrolls in one program, which is compiled once a family.

    Args:
      settings: of the meta-training.
      family: of the tasks.
      weights: of n samplers, stacked.
      keys: (n,) one an unroll.
      rows: of the family's data sets.
      sources: (n,) which of the data sets each has.
      residuals: (n,) 1.0 for a task with shortcuts, 0.0 for one without.
    """
    return _losses(settings.of_unroll, family.form, weights, keys, rows, sources, residuals)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _losses(
    settings: MetaSettings,
    family: Family,
    weights: Tree,
    keys: Key,
    rows: FamilyData,
    sources: Array,
    residuals: Array,
) -> Array:
    def one(weights: Tree, key: Key, source: Array, residual: Array) -> Array:
        own = jax.tree.map(lambda x: x[source], rows)
        return meta_loss(settings, family, weights, key, own, residual)

    return jax.vmap(one)(weights, keys, sources, residuals)


@functools.partial(jax.jit, static_argnums=0)
def perturbed(settings: MetaSettings, weights: Tree, key: Key) -> tuple[Tree, Tree]:
    """The perturbations (pairs, ...), and the weights with these added and with these taken off."""
    keys = jax.random.split(key, settings.pairs)
    noise = jax.vmap(lambda key: normal_like(key, weights))(keys)

    def both(w: Array, e: Array) -> Array:
        return w[None] + settings.sigma * jnp.concatenate([e, -e])

    return noise, jax.tree.map(both, weights, noise)


@functools.partial(jax.jit, static_argnums=0)
def updated(
    settings: MetaSettings, state: MetaState, noise: Tree, losses: Array
) -> tuple[MetaState, OuterMeasurement]:
    """The state after an outer step whose 2 x pairs losses these are."""
    plus, minus = losses.reshape(2, settings.pairs)
    gradient, kept = evolution_gradient(plus, minus, noise, settings.sigma)
    with jax.numpy_dtype_promotion("standard"):  # optax mixes counts and floats
        updates, adam = optimiser(settings).update(gradient, state.adam, state.weights)
    rate = cyclical(settings.learning_rate, settings.outer_steps)(state.step)
    moved = jax.tree.map(lambda w, u: w + rate * u, state.weights, updates)
    # With no pair left there is nothing to learn from: Adam's moments stay as they are too.
    weights, adam = where(kept > 0, (moved, adam), (state.weights, state.adam))
    skipped = settings.pairs - kept
    measured = OuterMeasurement(plus, minus, skipped, jnp.sqrt(sum_of_squares(gradient)))
    return MetaState(state.step + 1, weights, adam, state.skipped + skipped), measured


def outer_step(
    settings: MetaSettings,
    family: Family,
    state: MetaState,
    key: Key,
    rows: FamilyData,
    sources: Array,
    residuals: Array,
) -> tuple[MetaState, OuterMeasurement]:
    """One step of the meta-training, all its randomness from `key`.

    Args:
      settings: of the meta-training.
      family: of the tasks of this step.
      state: before it.
      key: a function of seed and outer step.
      rows: of the family's data sets.
      sources: (pairs,) which of the data sets each pair has.
      residuals: (pairs,) 1.0 for a task with shortcuts.
    """
    noise_key, task_key = jax.random.split(key)
    noise, both = perturbed(settings, state.weights, noise_key)
    # Both sides of a pair share its task, start, batches and noise: what differs is the sampler.
    data = jax.random.key_data(jax.random.split(task_key, settings.pairs))
    keys = jax.random.wrap_key_data(jnp.concatenate([data, data]))
    losses = losses_of(
        settings, family, both, keys, rows, jnp.tile(sources, 2), jnp.tile(residuals, 2)
    )
    return updated(settings, state, noise, losses)


def evolution_gradient(plus: Array, minus: Array, noise: Tree, sigma: float) -> tuple[Tree, Array]:
    """The estimate of the gradient from the pairs that are finite, and how many these are.

    Example:
      >>> e = jnp.array([[1.0, 0.0], [0.0, 2.0], [5.0, 5.0]])
      >>> plus, minus = jnp.array([1.0, 2.0, jnp.nan]), jnp.array([0.0, 2.5, 0.0])
      >>> gradient, kept = evolution_gradient(plus, minus, e, 0.5)
      >>> gradient.tolist(), int(kept)
      ([0.5, -0.5], 2)
    """
    finite = jnp.isfinite(plus) & jnp.isfinite(minus)
    kept = jnp.sum(finite).astype(jnp.int32)
    slope = jnp.where(finite, (plus - minus) / (2.0 * sigma), 0.0)
    share = slope / jnp.maximum(kept, 1).astype(slope.dtype)
    return jax.tree.map(lambda e: jnp.tensordot(share, e, axes=1), noise), kept
