"""Outputs of stored draws: each draw is read once, and only when something is missing."""

from pathlib import Path

import numpy as np
import pytest

from pxsgmcmc.errors import UserError
from pxsgmcmc.predict import Forward, OutputCache, StoredDraw, keep_outputs
from pxsgmcmc.predict.output_cache import digest_of
from tests.helpers.closeness import assert_close

X, MORE = np.arange(6.0, dtype=np.float32).reshape(3, 2), np.ones((5, 2), np.float32)
WIDE = np.ones((3, 5), np.float32)


def outputs(draws, sets, batch_size=250, **more):
    return keep_outputs(Forward(lambda w, x: x @ w, batch_size), draws, sets, **more)


def files(folder, of=""):
    return [
        (x, OutputCache(folder / name, x, numbers=2, of=of)) for name, x in (("a", X), ("b", MORE))
    ]


@pytest.fixture
def read():
    return []


@pytest.fixture
def draws(read):
    def stored(number):
        def load():
            read.append(number)
            return (number + 1) * np.eye(2, dtype=np.float32)

        return StoredDraw(bytes([number]) * 32, load)

    return [stored(number) for number in range(4)]


def test_sets_of_several_sizes_get_the_outputs_of_every_draw(draws, read, tmp_path):
    done = []
    first, second = outputs(draws, files(tmp_path), batch_size=4, report=done.append)
    factors = np.arange(1, 5)[:, None, None]
    np.testing.assert_array_equal(first, factors * X)
    np.testing.assert_array_equal(second, factors * MORE)
    assert read == [0, 1, 2, 3] and done == [1, 2, 3, 4]


def test_only_what_is_missing_is_read(draws, read, tmp_path):
    kept = files(tmp_path)
    outputs(draws[:2], kept)
    outputs(draws[:3], kept[:1])
    del read[:]
    both = outputs(draws, kept)
    assert read == [2, 3]  # draw 2 for the second set alone
    assert [len(kept) for kept in both] == [4, 4]
    del read[:]
    (fewer, _) = outputs(draws[:1], kept)  # a run that was set back
    assert read == [] and len(fewer) == 1


def test_a_file_of_another_run_or_of_a_stranger_is_refused_and_stays(draws, tmp_path):
    outputs(draws, files(tmp_path, of="mine"))
    with pytest.raises(UserError, match="something else than outputs of this run"):
        files(tmp_path, of="yours")
    (tmp_path / "secret").write_bytes(b"{")  # shorter than a head of ours
    (tmp_path / "a").unlink()
    for make in (Path.symlink_to, Path.hardlink_to):
        make(tmp_path / "a", tmp_path / "secret")
        with pytest.raises(UserError, match="something else than outputs of this run"):
            files(tmp_path, of="mine")
        (tmp_path / "a").unlink()
    assert (tmp_path / "secret").read_bytes() == b"{"


def test_a_making_that_is_cut_off_leaves_no_file_of_that_name(draws, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("os.link", stop)
        with pytest.raises(KeyboardInterrupt):
            files(tmp_path, of="mine")
    again, _ = outputs(draws, files(tmp_path, of="mine"))
    np.testing.assert_array_equal(again[0], X)


def test_bad_input_is_named(draws, tmp_path):
    with pytest.raises(UserError, match="at least one draw"):
        outputs([], files(tmp_path))
    with pytest.raises(UserError, match="`batch_size`"):
        outputs(draws, files(tmp_path), batch_size=0)
    broken = StoredDraw(b"9" * 32, lambda: np.full((2, 2), np.nan, np.float32))
    with pytest.raises(UserError, match="Draw 2 gives outputs that are not finite"):
        outputs([draws[0], broken], files(tmp_path))
    kept = files(tmp_path)
    assert len(kept[0][1]) == 1  # nothing of the broken draw counts
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="could not be written"):
        OutputCache(tmp_path / "file/a.outputs", X, numbers=2)
    with pytest.raises(UserError, match="keeps 2 numbers a row, got"):
        keep_outputs(Forward(lambda w, x: x), draws, [(WIDE, files(tmp_path)[0][1])])


def test_a_file_for_other_inputs_is_refused(tmp_path):
    OutputCache(tmp_path / "a", X, numbers=2)
    for other, numbers in ((X + 1, 2), (X, 3), (X[:-1], 2)):
        with pytest.raises(UserError, match="outputs of this run for these inputs; name another"):
            OutputCache(tmp_path / "a", other, numbers=numbers)


def test_what_is_kept_is_what_was_computed_whatever_the_batches(tmp_path):
    random = np.random.default_rng(0)
    x = random.normal(size=(23, 3)).astype(np.float32)
    weights = [random.normal(size=(3, 4)).astype(np.float32) for _ in range(6)]
    draws = [StoredDraw(digest_of(w), lambda w=w: w) for w in weights]
    cache = OutputCache(tmp_path / "a", x, numbers=4)
    outputs(draws[:4], [(x, cache)], batch_size=7)
    (kept,) = outputs(draws, [(x, cache)], batch_size=30)
    # Batches of 7 and 30 rows are two programs, which may add up the terms in different orders.
    expected = np.stack([x.astype(float) @ w for w in weights])
    scale = np.stack([abs(x) @ abs(w) for w in weights])
    assert_close(kept, expected, terms=3, scale=scale)


def test_a_draw_that_changed_is_evaluated_again_and_a_torn_block_too(draws, read, tmp_path):
    kept = files(tmp_path)[:1]
    outputs(draws, kept)
    del read[:]
    changed = [draws[0], StoredDraw(b"c" * 32, lambda: 9 * np.eye(2, dtype=np.float32)), *draws[2:]]
    (again,) = outputs(changed, kept)
    assert read == [2, 3]  # the blocks after a changed one are written anew
    np.testing.assert_array_equal(again[1], 9 * X)
    with open(tmp_path / "a", "r+b") as file:
        file.truncate((tmp_path / "a").stat().st_size - 5)
    assert len(kept[0][1]) == 3
    del read[:]
    (torn,) = outputs(changed, kept)
    assert read == [3]
    np.testing.assert_array_equal(torn[3], 4 * X)
