"""Step t of a chain draws from `fold_in(stream, t)`: its noise and its augmentation, each its own.

The chain here has no law: its position is a table into which every step writes the keys it got, so
that what `sample` handed to it can be read off its draws.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.rng import streams

STEPS, ROWS, PERIOD = 12, 8, 3
SEED = 11


def halves(key):
    """The words of a key as four numbers below 1 that a float32 holds exactly."""
    words = jax.random.key_data(key).reshape(2)
    parts = jnp.stack([words >> 16, words & jnp.uint32(0xFFFF)])
    return parts.reshape(4).astype(jnp.float32) / 65536.0


class Notes(NamedTuple):
    """State of the sampler that writes down its keys."""

    step: jax.Array
    position: dict[str, jax.Array]


def note_keys():
    def init(position):
        return Notes(jnp.int32(0), position)

    def step(key, state, batch):
        # Only the last STEPS steps fit into the table.
        place, position = state.step % STEPS, state.position
        noise = position["noise"].at[place].set(halves(key))
        augment = position["augment"].at[place].set(batch[0][0])
        return Notes(state.step + 1, {"noise": noise, "augment": augment}), px.StepInfo(
            jnp.zeros(()), jnp.ones(())
        )

    facts = px.SamplerFacts("notes", lambda q, b: 0.0, px.cyclical(1.0, PERIOD), 0.0)
    return px.Sampler(init, step, facts)


def keys_seen(**settings):
    """The keys of the last steps, by chain: name -> (chains, steps, 4)."""
    problem = px.Problem(
        lambda params, x: x[:, 0] * jnp.sum(params["noise"]),
        px.likelihoods.gaussian(1.0),
        train=(np.zeros((ROWS, 4), np.float32), np.zeros(ROWS, np.float32)),
        augment=lambda key, x: jnp.broadcast_to(halves(key)[None], x.shape),
    )
    start = {name: jnp.zeros((STEPS, 4)) for name in ("noise", "augment")}
    execution = px.Execution(chunk_seconds=1e-6, **settings.pop("execution", {}))
    run = px.sample(
        note_keys(),
        start,
        problem,
        draws=1,
        cycle_length=STEPS,
        batch_size=2,
        seed=SEED,
        progress=False,
        execution=execution,
        **settings,
    )
    last = [run.chain(number)[-1] for number in range(run.chains)]
    return {name: np.stack([draw[name] for draw in last]) for name in start}


def expected(stream, chains, first=0):
    """`fold_in(stream, t)` for the last steps, where the table has them."""
    table = np.zeros((chains, STEPS, 4), np.float32)
    for chain in range(chains):
        for t in range(first, first + STEPS):
            key = jax.random.fold_in(getattr(streams(SEED, chain), stream), t)
            seen_as = t + -first % PERIOD  # by the sampler, whose schedule burn-in shifts
            table[chain, seen_as % STEPS] = halves(key)
    return table


@pytest.mark.parametrize(
    ("settings", "chains", "first"),
    [
        ({"execution": {"executor": "scan"}}, 1, 0),
        ({"execution": {"executor": "loop"}}, 1, 0),
        ({"execution": {"keep_data": "host"}}, 1, 0),
        ({"chains": 3}, 3, 0),
        ({"chains": 2, "execution": {"executor": "loop"}}, 2, 0),
        ({"burn_in": 7}, 1, 7),  # the schedule is shifted by it, the streams are not
    ],
)
def test_each_step_draws_from_its_own_place_in_its_own_stream(settings, chains, first):
    seen = keys_seen(**settings)
    for stream in ("noise", "augment"):
        np.testing.assert_array_equal(seen[stream], expected(stream, chains, first))
    every = np.concatenate([keys.reshape(-1, 4) for keys in seen.values()])
    assert len(np.unique(every, axis=0)) == len(every)  # no key serves twice


def test_start_rows_noise_and_augmentation_have_streams_of_their_own():
    roots = [np.asarray(jax.random.key_data(key)).tobytes() for key in streams(SEED)]
    assert len(set(roots)) == len(roots)
