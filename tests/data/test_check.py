"""Data checked on entry: what is right passes in few types, what is wrong gives one sentence."""

import jax.numpy as jnp
import numpy as np
import pytest
from refusals import assert_refused
from scipy import sparse

from pxsgmcmc.data import _arrays as arrays
from pxsgmcmc.data.check import (
    check_counts,
    check_inputs,
    check_labels,
    check_new_inputs,
    check_pair,
    check_targets,
    encode_labels,
    scale_warnings,
)

IMAGES = np.zeros((2, 4, 4, 1), np.uint8)
TABLE = np.zeros((3, 2), np.float32)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.zeros((2, 2)), "float32"),
        (np.zeros((2, 2), np.float16), "float32"),
        (np.zeros((2, 2), ">f4"), "float32"),
        (np.zeros((2, 2), np.int64), "int32"),
        (np.zeros((2, 2), bool), "int32"),
        (np.zeros((2, 2), np.uint8), "uint8"),
        (jnp.zeros((2, 2)), "float32"),
        (jnp.zeros((2, 2), jnp.bfloat16), "float32"),
        ([[1, 2.5], [3, 4]], "float32"),
        (((1, 2), (3, 4)), "int32"),
    ],
)
def test_inputs_come_in_few_types(value, dtype):
    checked = check_inputs(value)
    assert isinstance(checked, np.ndarray) and checked.dtype == dtype and checked.shape == (2, 2)
    assert checked.dtype.isnative


def test_frames_and_series_are_taken_by_their_numbers():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    x, y = check_inputs(frame), check_labels(pandas.Series([True, False]), 2)
    np.testing.assert_array_equal(x, [[1, 3], [2, 4]])
    np.testing.assert_array_equal(y, [1, 0])
    codes, names = encode_labels(pandas.Series(["b", "a"], dtype="category"))
    assert codes.tolist() == [1, 0] and names == ("a", "b")
    missing = pandas.DataFrame({"a": [1.0, None]})
    assert_refused(lambda: check_inputs(missing), "`x` must be finite", "row 1;")


def test_mapped_files_stay_mapped(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((5, 2), np.float32))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert check_inputs(mapped) is mapped
    assert isinstance(check_new_inputs(mapped, TABLE), np.memmap)


NAN = np.ones((9, 2))
NAN[2:8, 1] = np.nan

BAD_INPUTS = [
    (NAN, ("must be finite", "rows 2, 3, 4, 5, 6 and 1 more; drop")),
    ([[1.0], [np.inf]], ("must be finite", "row 1;")),
    ([[1, 2], [3]], ("rows of equal length", "2 entries in row 0 and 1 in row 1")),
    ([[[1], [2]], [[1], [2, 3]]], ("equal shape",)),
    ([], ("at least one row",)),
    (np.zeros((0, 3)), ("at least one row",)),
    (np.array([[]] * 3, str), ("at least one row and column, got (3, 0)",)),
    (np.ma.masked_equal([[1.0], [7.0], [2.0]], 7.0), ("masked ones in row 1;",)),
    (sparse.eye_array(3), ("dense array", ".toarray()")),
    (3.0, ("one row for each datum", "got 3.0")),
    (None, ("must be an array, got None",)),
    (np.ones((2, 2)) * 1j, ("real numbers", "complex128")),
    (np.array([["a"], ["b"]]), ("text such as", "px.data.encode_labels(x)")),
    (np.array([[1.0], [None]], object), ("Python objects such as 1.0", "astype")),
    (np.array(["2020-01-01"], "datetime64[D]"), ("must hold numbers", "datetime64")),
    (np.array([[1e300]]), ("single precision", "row 0")),
    (np.array([[2**40]]), ("within 32 bits", "floating-point")),
]


@pytest.mark.parametrize(("value", "words"), BAD_INPUTS)
def test_wrong_inputs_are_named(value, words):
    assert_refused(lambda: check_inputs(value), "`x`", *words)


def test_bad_rows_are_counted_over_all_parts(monkeypatch):
    monkeypatch.setattr(arrays, "_BLOCK", 4)  # two rows
    assert_refused(lambda: check_inputs(NAN), "rows 2, 3, 4, 5, 6 and 1 more")


@pytest.mark.parametrize(
    ("value", "like", "words"),
    [
        (np.zeros((2, 3)), TABLE, ("shape (rows, 2)", "got (2, 3)")),
        (np.zeros(2), TABLE, ("shape (rows, 2)", "x[None] for one")),
        (np.zeros((2, 4, 4)), IMAGES, ("shape (rows, 4, 4, 1)",)),
        (np.zeros((2, 2), np.uint8), TABLE, ("must hold float32", "got uint8")),
        (np.zeros((2, 4, 4, 1)), IMAGES, ("must hold uint8", "got float32")),
    ],
)
def test_a_test_set_must_be_like_the_training_set(value, like, words):
    assert_refused(lambda: check_inputs(value, "test x", like), "`test x`", *words)


def test_a_test_set_like_the_training_set_passes():
    assert check_inputs(np.ones((1, 2)), like=TABLE).dtype == np.float32
    assert check_inputs(IMAGES, like=IMAGES) is IMAGES


def test_new_images_may_be_floats_up_to_255_but_not_up_to_1():
    bright = np.full((1, 4, 4, 1), 200.0)
    assert check_new_inputs(bright, IMAGES).dtype == np.float32
    assert check_new_inputs(IMAGES, IMAGES) is IMAGES
    assert_refused(lambda: check_new_inputs(bright / 255, IMAGES), "none above 1", "by 255")
    assert_refused(lambda: check_new_inputs(bright - 210, IMAGES), "from -10 to -10")
    assert_refused(lambda: check_new_inputs(bright * 2, IMAGES), "0 to 255", "not normalised")
    assert_refused(lambda: check_new_inputs(np.zeros((1, 2), np.uint8), TABLE), "float32")


BAD_LABELS = [
    ([1, 2, 3], 3, ("labels from 1 to 3; subtract 1",)),
    ([1, 2, 3], None, ("labels from 1 to 3; subtract 1",)),
    ([-1, 1, 1], 2, ("labels -1 and 1; map them to 0 and 1: (y + 1) // 2",)),
    ([-1, 1, 1], None, ("labels -1 and 1",)),
    ([0, 5, 1], 3, ("labels from 0 to 2, got 5 in row 1;",)),
    ([0, -2, 1], None, ("labels from 0 to 1, got -2 in row 1;",)),
    ([0.0, 1.0], 2, ("whole numbers, got float32", "y.astype('int32')")),
    ([0.5, 1.0], 2, ("whole numbers, got float32", "regression")),
    ([[0], [1]], 2, ("shape (n,), got (2, 1)", "drop the last axis: y[:, 0]")),
    ([[0, 1], [1, 0]], 2, ("one-hot", "y.argmax(axis=1)")),
    ([[0, 3], [1, 0]], 4, ("one label a row",)),
    (["cat", "dog"], 2, ("text such as", "encode_labels(y)")),
    ([0, np.nan], 2, ("finite", "row 1;")),
    ([], 2, ("at least one row",)),
]


@pytest.mark.parametrize(("value", "classes", "words"), BAD_LABELS)
def test_wrong_labels_are_named(value, classes, words):
    assert_refused(lambda: check_labels(value, classes), "`y`", *words)


@pytest.mark.parametrize("value", [[0, 2, 1], np.array([0, 2, 1], np.uint8), jnp.array([0, 2, 1])])
def test_right_labels_are_int32(value):
    checked = check_labels(value, 3)
    assert checked.dtype == np.int32 and checked.tolist() == [0, 2, 1]
    assert check_labels([True, False], 2).tolist() == [1, 0]
    assert check_labels([1, 2], 10).tolist() == [1, 2], "a class may be missing from a split"


def test_targets_are_columns():
    assert check_targets([1, 2]).tolist() == [[1.0], [2.0]]
    assert check_targets(np.zeros((3, 2))).shape == (3, 2)
    assert check_targets([1]).dtype == np.float32
    assert_refused(lambda: check_targets(np.zeros((3, 2, 1))), "(n, targets), got (3, 2, 1)")
    assert_refused(lambda: check_targets([1.0, np.nan]), "row 1;")


def test_counts_are_whole_and_not_negative():
    assert check_counts(np.array([0, 7])).tolist() == [[0.0], [7.0]]
    assert_refused(lambda: check_counts([1.0, 0.5]), "counts", "got 0.5 in row 1;")
    assert_refused(lambda: check_counts([[1, 2], [3, -1]]), "got -1 in row 1;")


def test_inputs_alone_are_no_pair():
    words = ("`train` must be a pair", "shape (3, 2); give (x, y)")
    assert_refused(lambda: check_pair(TABLE, name="train"), *words)
    assert_refused(lambda: check_pair((TABLE,), name="train"), "got tuple")
    assert check_pair([TABLE, None], name="train") == (TABLE, None)


def test_text_becomes_codes_of_sorted_names():
    codes, names = encode_labels(np.array([b"dog", b"cat", b"dog"]))
    assert codes.dtype == np.int32 and codes.tolist() == [1, 0, 1] and names == ("cat", "dog")
    assert encode_labels([10, 9, 10])[1] == ("9", "10"), "numbers are sorted as numbers"
    assert_refused(lambda: encode_labels(np.array(["a", None], object)), "none in row 1;")
    assert_refused(lambda: encode_labels(np.array(["a", 3], object)), "one kind, got 3;")
    assert_refused(lambda: encode_labels([["a"], ["b"]]), "shape (n,), got (2, 1)")
    assert_refused(lambda: encode_labels([0.5, np.nan]), "row 1;")


def test_columns_of_very_different_size_are_said():
    x = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 0.001, 500.0]
    (warning,) = scale_warnings(x)
    assert "column 2" in warning and "standardise" in warning
    assert scale_warnings(x / x.std(axis=0)) == []
    assert scale_warnings(np.ones((50, 3))) == []  # constant columns have no size
