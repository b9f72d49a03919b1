import itertools

import jax
import numpy as np

from pxsgmcmc.rng import Streams, streams


def data(key) -> tuple[int, ...]:
    return tuple(np.asarray(jax.random.key_data(key)).tolist())


def test_the_same_seed_and_chain_give_the_same_streams():
    assert [data(k) for k in streams(3, 1)] == [data(k) for k in streams(3, 1)]


def test_streams_of_all_seeds_chains_and_purposes_differ():
    keys = [data(k) for s, c in itertools.product(range(4), range(4)) for k in streams(s, c)]
    assert len(set(keys)) == 16 * len(Streams._fields)


def test_chain_zero_is_the_default():
    assert data(streams(5).noise) == data(streams(5, 0).noise)


def test_a_stream_appended_later_would_leave_the_others_as_they_are():
    root = jax.random.fold_in(jax.random.key(0), 0)
    longer = jax.random.split(root, len(Streams._fields) + 3)
    assert [data(k) for k in streams(0)] == [data(k) for k in longer[: len(Streams._fields)]]


def test_the_streams_of_seed_zero_stay_what_they_are():
    # Runs are resumed and repeated by their seed: these numbers must never change.
    assert [data(k) for k in streams(0)] == [
        (4165894930, 804218099),
        (1353695780, 2116000888),
        (2839387376, 2467677468),
        (4257973933, 3811338087),
    ]
