"""Evolution strategies: the gradient, what is left out, what Adam keeps, the loss of an unroll."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from pxsgmcmc.meta.evolution import (
    evolution_gradient,
    initial_state,
    losses_of,
    optimiser,
    perturbed,
    updated,
)
from pxsgmcmc.meta.networks import apply_network, init_network
from pxsgmcmc.meta.settings import MetaSettings
from pxsgmcmc.meta.tasks import Task, families, family_data
from pxsgmcmc.samplers.l2e import l2e
from tests.helpers.closeness import assert_close

SMALL = MetaSettings(
    data_sets=("wine",),
    kinds=("dense",),
    widths=(2,),
    depths=(1,),
    inner_steps=6,
    averaged_steps=4,
    thinning=2,
    batch_size=5,
    held_out_rows=10,
    outer_steps=4,
    pairs=2,
    repeats=4,  # as many unrolls as two pairs have, in the same program
)


def test_the_gradient_of_a_linear_loss_is_right_on_average(key):
    """Each of four entries to 4.5 of its standard errors: a false alarm in 37,000 seeds."""
    slope, pairs, sigma = jnp.array([1.0, -2.0, 0.5, 0.0]), 40_000, 0.1
    noise = jax.random.normal(key, (pairs, 4))
    plus = 3.0 + sigma * noise @ slope
    minus = 3.0 - sigma * noise @ slope
    gradient, kept = evolution_gradient(plus, minus, noise, sigma)
    each = np.asarray((noise @ slope)[:, None] * noise, float)
    z = (np.asarray(gradient) - np.asarray(slope)) / (each.std(axis=0) / np.sqrt(pairs))
    assert int(kept) == pairs and np.all(np.abs(z) < 4.5)


def state_after(losses, settings=SMALL, state=None, seed=0):
    state = initial_state(settings) if state is None else state
    noise, both = perturbed(settings, state.weights, jax.random.key(seed))
    after, found = updated(settings, state, noise, jnp.asarray(losses, jnp.float32))
    return after, found, noise, both


def test_both_sides_of_a_pair_lie_opposite_each_other():
    state, _, noise, both = state_after([1.0, 2.0, 1.5, 1.0])
    begun = initial_state(SMALL).weights
    for w, e, two in zip(*map(jax.tree.leaves, (begun, noise, both)), strict=True):
        assert_close(two[:2] - w[None], SMALL.sigma * e, terms=4, scale=1.0)
        assert_close(two[2:] - w[None], -SMALL.sigma * e, terms=4, scale=1.0)
    assert int(state.step) == 1


def test_a_pair_that_diverges_is_left_out_and_counted():
    with_nan, found, noise, _ = state_after([1.0, np.nan, 1.5, 1.0])
    alone = jax.tree.map(lambda e: -0.5 / (2 * SMALL.sigma) * e[0], noise)
    start = initial_state(SMALL)
    with jax.numpy_dtype_promotion("standard"):
        updates, _ = optimiser(SMALL).update(alone, start.adam, start.weights)
    expected = jax.tree.map(lambda w, u: w + SMALL.learning_rate * u, start.weights, updates)
    for x, y in zip(*map(jax.tree.leaves, (with_nan.weights, expected)), strict=True):
        assert_close(x, y, terms=64, scale=1.0)
    assert int(found.skipped) == int(with_nan.skipped) == 1
    lost, found, *_ = state_after([np.inf, np.nan, 1.5, 1.0], state=with_nan)
    assert int(found.skipped) == 2 and int(lost.skipped) == 3
    for x, y in zip(*map(jax.tree.leaves, (lost[1:3], with_nan[1:3])), strict=True):
        np.testing.assert_array_equal(x, y)  # nothing was learned, and Adam has not moved either


def test_adam_keeps_its_moments_while_its_learning_rate_falls_by_a_cosine():
    losses = [[1.0, 2.0, 1.5, 1.0], [3.0, 1.0, 1.0, 1.0], [1.0, 1.0, 4.0, 2.0]]
    state = start = initial_state(SMALL)
    falling = optax.cosine_decay_schedule(SMALL.learning_rate, SMALL.outer_steps)
    transform = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(falling))
    weights, adam = start.weights, transform.init(start.weights)
    for seed, own in enumerate(losses):
        state, found, noise, _ = state_after(own, state=state, seed=seed)
        gradient, _ = evolution_gradient(found.plus, found.minus, noise, SMALL.sigma)
        with jax.numpy_dtype_promotion("standard"):
            updates, adam = transform.update(gradient, adam, weights)
        weights = optax.apply_updates(weights, updates)
    for x, y in zip(*map(jax.tree.leaves, (state.weights, weights)), strict=True):
        assert_close(x, y, terms=200, scale=1.0)
    # Started anew at each step, as published, it would move by the learning rate's sign each time.
    moved = state.weights["linear_1"]["w"] - start.weights["linear_1"]["w"]
    signs = np.unique(np.round(np.abs(moved) / SMALL.learning_rate, 3))
    assert len(signs) > 10


@pytest.fixture(scope="module")
def small_family():
    (family,) = families([Task("wine", "dense", 2, 1, False)])
    return family, family_data(family)[0]


def test_the_loss_of_an_unroll_is_that_of_predictions_averaged_step_by_step(small_family):
    family, rows = small_family
    weights = jax.tree.map(lambda w: 3.0 * w, initial_state(SMALL).weights)
    key = jax.random.key(5)
    four = jax.tree.map(lambda w: jnp.stack([w] * 4), weights)
    keys = jax.random.wrap_key_data(jnp.stack([jax.random.key_data(key)] * 4))
    found = losses_of(SMALL, family, four, keys, rows, jnp.zeros(4, jnp.int32), jnp.zeros(4))
    by_hand = unrolled(family, rows, weights, key)
    assert_close(found, np.full(4, by_hand), terms=2000, scale=3.0)


def unrolled(family, rows, weights, key):
    start_key, batch_key, noise_key = jax.random.split(jax.random.clone(key), 3)
    apply = jax.jit(functools.partial(apply_network, "dense", residual=jnp.float32(0.0)))
    x, y = rows.x[0], rows.y[0]

    def potential(params, batch):
        log_p = jax.nn.log_softmax(apply(params, batch[0]))
        chosen = jnp.take_along_axis(log_p, batch[1][:, None], axis=1)
        squares = sum(jnp.sum(p**2) for p in jax.tree.leaves(params))
        return len(y) * (0.5 * SMALL.weight_decay * squares - jnp.mean(chosen))

    h = np.sqrt(SMALL.step_multiplier / len(y))
    sampler = l2e(potential, h, data_size=len(y), weights=weights)
    step = jax.jit(sampler.step)
    state = sampler.init(init_network(start_key, "dense", family.shape, 2, 1, family.classes))
    chosen = jax.random.randint(batch_key, (6, 5), 0, len(y))
    members = []
    for t in range(6):
        state, _ = step(jax.random.fold_in(noise_key, t), state, (x[chosen[t]], y[chosen[t]]))
        if t in (3, 5):
            members.append(jax.nn.softmax(apply(state.position, rows.held_out_x[0][:10])))
    mean = np.mean(np.asarray(members, float), axis=0)
    return -np.mean(np.log(mean[np.arange(10), rows.held_out_y[0][:10]]))
