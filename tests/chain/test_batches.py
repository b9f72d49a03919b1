import jax
import numpy as np
import pytest

from pxsgmcmc.chain.batches import Batches
from pxsgmcmc.chain.collect import Collection
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
    together = Batches(key, data_size=10, batch_size=5).rows(0, 400)  # 200 epochs, 64 at a time
    monkeypatch.setattr("pxsgmcmc.chain.batches.SHUFFLED_TOGETHER", 1)
    assert (Batches(key, data_size=10, batch_size=5).rows(0, 400) == together).all()
    epoch = jax.random.permutation(jax.random.fold_in(key, 130), 10)
    assert together[260:262].ravel().tolist() == epoch.tolist()


def test_rows_that_were_prepared_are_those_and_nothing_is_left_to_shuffle(monkeypatch):
    key = jax.random.key(5)
    expected = Batches(key, data_size=7, batch_size=3).rows(150, 200)
    stream = Batches(key, data_size=7, batch_size=3)
    stream.prepare(150, 200)  # epochs 64 to 149: two blocks
    monkeypatch.setattr("pxsgmcmc.chain.batches._random_bits", None)
    assert (stream.rows(150, 200) == expected).all()
    with pytest.raises(TypeError):
        stream.rows(1000, 1)


def test_no_steps_have_no_rows():
    assert Batches(jax.random.key(0), data_size=4, batch_size=2).rows(5, 0).shape == (0, 2)


def test_a_batch_larger_than_the_data_is_named():
    with pytest.raises(UserError, match="`batch_size` must be at most the number of data, got 5"):
        Batches(jax.random.key(0), data_size=4, batch_size=5)


def test_draws_come_from_the_ends_of_cycles_after_burn_in():
    collection = Collection(draws=5, steps=100, burn_in=30, per_cycle=2, every=10).checked()
    assert [collection.step_of(k) for k in range(1, 6)] == [120, 130, 220, 230, 320]


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"draws": 0}, "draws"),
        ({"steps": 0}, "steps"),
        ({"burn_in": -1}, "burn_in"),
        ({"per_cycle": 3, "every": 50}, "draws_per_cycle"),
        ({"every": 0}, "every"),
    ],
)
def test_a_collection_that_makes_no_sense_is_named(bad, named):
    with pytest.raises(UserError, match=named):
        Collection(**{"draws": 5, "steps": 100, **bad}).checked()
