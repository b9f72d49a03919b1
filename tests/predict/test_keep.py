"""Logits of stored draws: each draw is read once, and only when something is missing."""

import numpy as np
import pytest

from pxsgmcmc.errors import UserError
from pxsgmcmc.predict import LogitFile, StoredDraw, keep_logits

X, MORE = np.arange(6.0, dtype=np.float32).reshape(3, 2), np.ones((5, 2), np.float32)


def apply(w, x):
    return x @ w


def files(folder, of=""):
    return [
        (x, LogitFile(folder / name, x, classes=2, of=of)) for name, x in (("a", X), ("b", MORE))
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


def test_sets_of_several_sizes_get_the_logits_of_every_draw(draws, read, tmp_path):
    done = []
    first, second = keep_logits(apply, draws, files(tmp_path), batch_size=4, report=done.append)
    factors = np.arange(1, 5)[:, None, None]
    np.testing.assert_array_equal(first, factors * X)
    np.testing.assert_array_equal(second, factors * MORE)
    assert read == [0, 1, 2, 3] and done == [1, 2, 3, 4]


def test_only_what_is_missing_is_read(draws, read, tmp_path):
    kept = files(tmp_path)
    keep_logits(apply, draws[:2], kept)
    keep_logits(apply, draws[:3], kept[:1])
    del read[:]
    both = keep_logits(apply, draws, kept)
    assert read == [2, 3]  # draw 2 for the second set alone
    assert [len(logits) for logits in both] == [4, 4]
    del read[:]
    (fewer, _) = keep_logits(apply, draws[:1], kept)  # a run that was set back
    assert read == [] and len(fewer) == 1


def test_a_file_of_another_run_is_refused_and_one_cut_off_is_made_again(draws, tmp_path):
    keep_logits(apply, draws, files(tmp_path, of="mine"))
    with pytest.raises(UserError, match="other inputs or another run"):
        files(tmp_path, of="yours")
    (tmp_path / "a").write_bytes(b"{")  # its very first write was interrupted
    again, _ = keep_logits(apply, draws, files(tmp_path, of="mine"))
    np.testing.assert_array_equal(again[0], X)


def test_bad_input_is_named(draws, tmp_path):
    with pytest.raises(UserError, match="at least one draw"):
        keep_logits(apply, [], files(tmp_path))
    with pytest.raises(UserError, match="`batch_size`"):
        keep_logits(apply, draws, files(tmp_path), batch_size=0)
    broken = StoredDraw(b"9" * 32, lambda: np.full((2, 2), np.nan, np.float32))
    with pytest.raises(UserError, match="Draw 2 gives logits that are not finite"):
        keep_logits(apply, [draws[0], broken], files(tmp_path))
    kept = files(tmp_path)
    assert len(kept[0][1]) == 1  # nothing of the broken draw counts
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="could not be written"):
        LogitFile(tmp_path / "file/a.logits", X, classes=2)
