import jax
import numpy as np
import pytest
import scipy.stats

from pxsgmcmc.chain.batches import Batches
from pxsgmcmc.chain.collection import collection_of
from pxsgmcmc.errors import UserError


@pytest.mark.parametrize(("data_size", "batch_size"), [(12, 4), (10, 3), (7, 7), (5, 1), (9, 8)])
def test_the_stream_is_permutations_one_after_another(data_size, batch_size):
    steps = 3 * data_size
    rows = Batches(jax.random.key(0), data_size=data_size, batch_size=batch_size).rows(0, steps)
    stream = rows.ravel()[: len(rows.ravel()) // data_size * data_size]
    epochs = stream.reshape(-1, data_size)
    assert (np.sort(epochs, axis=1) == np.arange(data_size)).all()


def test_epochs_differ():
    epochs = Batches(jax.random.key(0), data_size=50, batch_size=25).rows(0, 8).reshape(4, 50)
    assert len({tuple(epoch) for epoch in epochs}) == 4


def test_rows_depend_on_the_step_alone():
    whole = Batches(jax.random.key(3), data_size=10, batch_size=3).rows(0, 40)
    pieces = Batches(jax.random.key(3), data_size=10, batch_size=3)
    later = pieces.rows(31, 9)
    assert (later == whole[31:]).all()
    assert (pieces.rows(2, 5) == whole[2:7]).all()
    assert np.concatenate([pieces.rows(i, 1) for i in range(40)]).tolist() == whole.tolist()


def test_epochs_shuffled_together_are_those_shuffled_one_by_one(monkeypatch):
    key = jax.random.key(5)
    together = Batches(key, data_size=10, batch_size=5).rows(0, 400)
    monkeypatch.setattr("pxsgmcmc.chain.batches.SHUFFLED_TOGETHER", 70)  # 7 epochs at a time
    assert (Batches(key, data_size=10, batch_size=5).rows(0, 400) == together).all()
    monkeypatch.setattr("pxsgmcmc.chain.batches.SHUFFLED_TOGETHER", 1)
    assert (Batches(key, data_size=10, batch_size=5).rows(0, 400) == together).all()


def test_every_order_is_equally_likely():
    epochs = Batches(jax.random.key(2), data_size=4, batch_size=1).rows(0, 4 * 24_000)
    seen, counts = np.unique(epochs.reshape(-1, 4), axis=0, return_counts=True)
    assert len(seen) == 24
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_neighbouring_epochs_and_keys_have_nothing_to_do_with_each_other():
    def places(seed):
        epochs = Batches(jax.random.key(seed), data_size=1000, batch_size=10).rows(0, 2000)
        return np.argsort(epochs.reshape(-1, 1000), axis=1)

    one, other = places(0), places(1)
    pairs = [(one[:-1], one[1:]), (one, other), (one[:, :-1], one[:, 1:])]
    for a, b in pairs:
        correlation = np.corrcoef(a.ravel(), b.ravel())[0, 1]
        assert abs(correlation) < 4 / np.sqrt(a.size) + 1 / 999  # places of one epoch: -1 / 999


def test_rows_of_a_key_stay_what_they_are():
    # From NumPy 2.4.6 and JAX 0.10.2; a run that is resumed later must see the same rows.
    rows = Batches(jax.random.key(5), data_size=7, batch_size=3).rows(100, 3)
    assert rows.tolist() == [[5, 1, 2], [0, 6, 5], [3, 4, 3]]


def test_rows_that_were_prepared_are_those_and_nothing_is_left_to_shuffle(monkeypatch):
    key = jax.random.key(5)
    expected = Batches(key, data_size=700, batch_size=300).rows(150, 200)
    stream = Batches(key, data_size=700, batch_size=300)
    stream.shuffle_ahead(150, 200)  # epochs 64 to 149
    monkeypatch.setattr("pxsgmcmc.chain.batches._shuffled", None)
    assert (stream.rows(150, 200) == expected).all()
    with pytest.raises(TypeError):
        stream.rows(1000, 1)


def test_no_steps_have_no_rows():
    assert Batches(jax.random.key(0), data_size=4, batch_size=2).rows(5, 0).shape == (0, 2)


def test_a_batch_larger_than_the_data_is_named():
    with pytest.raises(UserError, match="`batch_size` must be at most the number of data, got 5"):
        Batches(jax.random.key(0), data_size=4, batch_size=5)


def test_draws_come_from_the_ends_of_cycles_after_burn_in():
    collection = collection_of(5, 100, burn_in=30, draws_per_cycle=2, thinning=10)
    assert [collection.step_of(k) for k in range(1, 6)] == [120, 130, 220, 230, 320]


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"draws": 0}, "draws"),
        ({"cycle_length": 0}, "cycle_length"),
        ({"burn_in": -1}, "burn_in"),
        ({"draws_per_cycle": 3, "thinning": 50}, "draws_per_cycle"),
        ({"thinning": 0}, "thinning"),
    ],
)
def test_a_collection_that_makes_no_sense_is_named(bad, named):
    with pytest.raises(UserError, match=named):
        collection_of(
            **{
                "draws": 5,
                "cycle_length": 100,
                "burn_in": 0,
                "draws_per_cycle": 1,
                "thinning": None,
                **bad,
            }
        )
