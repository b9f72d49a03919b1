"""The section [data] with the user's files: from there to a data set that says what it is."""

import json

import msgspec
import numpy as np
import pytest
from own_files import ROWS, load, write_files
from refusals import assert_refused

from pxsgmcmc.data.load_files import load_files
from pxsgmcmc.data.standardise import Standardisation


@pytest.fixture
def folder(tmp_path):
    return write_files(tmp_path)


def test_two_arrays_are_a_classification(folder):
    data = load(folder)
    x, y = data.splits["train"]
    assert x.dtype == np.float32 and x.shape == (ROWS, 3)
    assert y.dtype == np.int32 and y.tolist() == (np.arange(ROWS) % 3).tolist()
    assert data.task == "classification" and data.classes == ("0", "1", "2")
    standardised = data.inputs.apply(x)
    np.testing.assert_allclose(standardised.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(standardised.std(axis=0), 1, rtol=1e-5)


def test_real_targets_are_a_regression_with_a_scale_of_their_own(folder):
    data = load(folder, {"x": "X.npy", "y": "t.npy"})
    t = np.load(folder / "t.npy")
    assert data.task == "regression" and data.classes == () and data.target_names == ("y",)
    np.testing.assert_allclose(data.splits["train"].y[:, 0], t, rtol=1e-6)
    np.testing.assert_allclose(data.targets.mean, t.mean(), rtol=1e-6)
    np.testing.assert_allclose(data.targets.std, t.std(), rtol=1e-6)
    assert "regression, because y holds real numbers" in data.summary()


def test_targets_are_columns_of_the_same_table_by_name_number_or_list(folder):
    price = {"x": "table.csv", "y": "price"}
    assert_refused(
        lambda: load(folder, price), "table.csv", "'cat' in row 0 (line 2), column 'kind'"
    )
    both = {"x": "table.csv", "y": ["price", "a"]}
    assert_refused(lambda: load(folder, both), "column 'kind'")
    text = (folder / "table.csv").read_text().splitlines()
    chosen = load(folder, {**price, "columns": ["c", "a"]})
    assert chosen.feature_names == ("c", "a") and chosen.target_names == ("price",)
    numbers = "\n".join(line.rpartition(",")[0] for line in text)
    (folder / "numbers.csv").write_text(numbers)
    by_name = load(folder, {"x": "numbers.csv", "y": "price"})
    by_number = load(folder, {"x": "numbers.csv", "y": -1})
    assert by_name.feature_names == ("a", "b", "c") and by_name.target_names == ("price",)
    assert by_name.sha256 == by_number.sha256
    two = load(folder, {"x": "numbers.csv", "y": ["price", "a"]})
    assert two.target_names == ("price", "a") and two.splits["train"].y.shape == (ROWS, 2)
    assert two.feature_names == ("b", "c") and len(two.targets.mean) == 2


def test_text_labels_are_classes_in_sorted_order(folder):
    lines = (folder / "table.csv").read_text().splitlines()
    kept = [line.split(",") for line in lines]
    (folder / "kinds.csv").write_text("\n".join(",".join([*c[:3], c[4]]) for c in kept))
    data = load(folder, {"x": "kinds.csv", "y": "kind"})
    assert data.classes == ("ape", "cat", "dog")
    assert data.splits["train"].y[:3].tolist() == [1, 0, 2]
    assert "ape (20), cat (20), dog (20)" in data.summary()
    assert "kinds.csv has a header" in data.summary()


@pytest.mark.parametrize("key", ["labels", "all.npz:labels"])
@pytest.mark.parametrize("x", ["all.npz", "all.npz:X"])
def test_an_npz_file_gives_both(folder, x, key):
    assert load(folder, {"x": x, "y": key}).sha256 == load(folder).sha256


def test_a_fraction_for_validation_is_seeded_and_takes_each_class_in_proportion(folder):
    data = load(folder, validation=0.2, seed=1)
    counts = {name: np.bincount(rows.y).tolist() for name, rows in data.splits.items()}
    assert counts == {"train": [16, 16, 16], "validation": [4, 4, 4]}
    both = np.concatenate([rows.x for rows in data.splits.values()])
    assert sorted(map(bytes, both)) == sorted(map(bytes, load(folder).splits["train"].x))
    assert load(folder, validation=0.2, seed=1).sha256 == data.sha256
    assert load(folder, validation=0.2, seed=2).sha256 != data.sha256
    asked = {"train": {"x": "X.npy", "y": "y.npy"}}
    assert load_files(asked, base=folder, validation=0.2, seed=1).sha256 == data.sha256
    real = load(folder, {"x": "X.npy", "y": "t.npy"}, validation=0.25)
    assert [len(rows.x) for rows in real.splits.values()] == [45, 15]


def test_the_scale_is_that_of_the_rows_left_for_training(folder):
    data = load(folder, validation=0.5)
    x = data.splits["train"].x.astype(float)
    np.testing.assert_allclose(data.mean, x.mean(axis=0), rtol=1e-6)
    assert not np.allclose(data.mean, np.load(folder / "X.npy").mean(axis=0), rtol=1e-3)


def test_every_kind_of_set_is_read(folder):
    pair = {"x": "X.npy", "y": "y.npy"}
    noise = {"noise": {"x": "noise.npy"}}
    data = load(folder, validation=pair, test=pair, shifts={"w": pair}, out_of_distribution=noise)
    assert list(data.splits) == ["train", "validation", "test"]
    assert data.shifts["w"].y is not None and data.out_of_distribution["noise"].y is None
    for line in ("shift w: 60 rows", "out of distribution noise: 7 rows, x (3) float32, no labels"):
        assert line in data.summary()
    assert data.sha256 == load(folder, validation=pair, test=pair).sha256


def test_columns_of_other_splits_go_by_the_names_of_the_training_table(folder):
    (folder / "train.csv").write_text("a,b,kind\n1,10,u\n2,20,v\n")
    (folder / "test.csv").write_text("kind,b,extra,a\nv,30,0,3\nu,40,0,4\n")
    data = load(
        folder,
        {"x": "train.csv", "y": "kind"},
        test={"x": "test.csv", "y": "kind"},
        out_of_distribution={"o": {"x": "test.csv"}},
    )
    assert data.splits["test"].x.tolist() == [[3, 30], [4, 40]]
    assert data.splits["test"].y.tolist() == [1, 0]
    assert data.out_of_distribution["o"].x.tolist() == [[3, 30], [4, 40]]
    (folder / "less.csv").write_text("kind,b\nv,30\n")
    less = {"test": {"x": "less.csv", "y": "kind"}}
    train = {"x": "train.csv", "y": "kind"}
    assert_refused(lambda: load(folder, train, **less), "less.csv", "has no column 'a'")


def test_large_arrays_stay_mapped_where_nothing_has_to_be_changed(folder):
    np.save(folder / "X32.npy", np.load(folder / "X.npy").astype(np.float32))
    assert isinstance(load(folder, {"x": "X32.npy", "y": "y.npy"}).splits["train"].x, np.memmap)


def test_images_are_bytes_with_a_channel_axis(folder):
    grey = np.random.default_rng(0).integers(0, 256, (ROWS, 5, 4)).astype(np.uint8)
    np.save(folder / "grey.npy", grey)
    np.save(folder / "colour.npy", np.stack([grey] * 3, axis=-1))
    np.save(folder / "first.npy", np.zeros((ROWS, 3, 8, 8), np.uint8))
    data = load(folder, {"x": "grey.npy", "y": "y.npy"})
    x = data.splits["train"].x
    assert x.shape == (ROWS, 5, 4, 1) and x.dtype == np.uint8 and isinstance(x, np.memmap)
    assert "grey.npy has grey images of (5, 4): a channel axis was added" in data.summary()
    np.testing.assert_allclose(data.mean, grey.mean() / 255)
    colour = load(folder, {"x": "colour.npy", "y": "y.npy"})
    assert len(colour.mean) == 3 and "x (5 x 4 x 3) uint8" in colour.summary()
    first = {"x": "first.npy", "y": "y.npy"}
    assert_refused(lambda: load(folder, first), "first.npy", "channels first", "transpose")


@pytest.mark.parametrize(
    ("choice", "inputs", "targets"),
    [
        ("features", True, False),
        ("targets", False, True),
        ("both", True, True),
        ("none", False, False),
    ],
)
def test_what_is_standardised_is_chosen(folder, choice, inputs, targets):
    data = load(folder, {"x": "X.npy", "y": "t.npy"}, standardise=choice)
    assert (data.mean != (0.0, 0.0, 0.0)) == inputs
    assert (data.targets.mean != (0.0,)) == targets
    assert ("inputs not standardised" in data.summary()) != inputs
    stored = json.loads(msgspec.json.encode({"x": data.inputs, "y": data.targets}))
    assert msgspec.convert(stored["x"], Standardisation) == data.inputs


def test_constant_columns_are_left_and_said(folder):
    x = np.load(folder / "X.npy")
    x[:, 1] = 7
    np.save(folder / "C.npy", x)
    data = load(folder, {"x": "C.npy", "y": "y.npy"})
    assert data.std[1] == 1.0 and "constant columns of x, left at zero: 1" in data.summary()


def test_labels_that_do_not_start_at_zero_are_named_or_taken_as_names(folder):
    np.save(folder / "y1.npy", np.arange(ROWS) % 3 + 1)
    np.save(folder / "signs.npy", np.arange(ROWS) % 2 * 2 - 1)
    ones, signs = {"x": "X.npy", "y": "y1.npy"}, {"x": "X.npy", "y": "signs.npy"}
    words = ("y1.npy", "labels from 1 to 3 where labels start at 0; subtract 1, or set `labels =")
    assert_refused(lambda: load(folder, ones), *words)
    assert_refused(lambda: load(folder, signs), "labels -1 and 1", "map them to 0 and 1")
    assert load(folder, ones, labels="names").classes == ("1", "2", "3")
    named = load(folder, signs, labels="names")
    assert named.classes == ("-1", "1") and named.splits["train"].y[:2].tolist() == [0, 1]


def test_many_different_whole_numbers_ask_which_task_is_meant(folder):
    np.save(folder / "ages.npy", np.arange(ROWS) % 40)
    ages = {"x": "X.npy", "y": "ages.npy"}
    words = ("ages.npy", "40 different whole numbers in 60 rows", 'task = "regression"')
    assert_refused(lambda: load(folder, ages), *words)
    assert load(folder, ages, task="regression").task == "regression"
    assert len(load(folder, ages, task="classification").classes) == 40


def test_the_setting_task_decides(folder):
    np.save(folder / "whole.npy", (np.arange(ROWS) % 3).astype(float))
    files = {"x": "X.npy", "y": "whole.npy"}
    words = ("whole.npy", "3 different whole numbers as floats in 60 rows", "to decide")
    assert_refused(lambda: load(folder, files), *words)  # neither is guessed
    assert load(folder, files, task="regression").task == "regression"
    assert load(folder, files, task="classification").classes == ("0", "1", "2")
    real = {"x": "X.npy", "y": "t.npy"}
    words = ("t.npy", "whole numbers", "regression")
    assert_refused(lambda: load(folder, real, task="classification"), *words)
    text = {"x": "X.npy", "y": "words.npy"}
    np.save(folder / "words.npy", np.array(["a", "b"] * 30))
    assert_refused(lambda: load(folder, text, task="regression"), "holds text", "give numbers")


def test_labels_in_a_column_are_taken_as_they_are_meant(folder):
    np.save(folder / "column.npy", np.load(folder / "y.npy")[:, None])
    assert load(folder, {"x": "X.npy", "y": "column.npy"}).sha256 == load(folder).sha256
