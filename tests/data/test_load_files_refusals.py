"""What is wrong with the user's files or with the section [data], in one sentence."""

import numpy as np
import pytest
from own_files import ROWS, load, write_files
from refusals import assert_refused

from pxsgmcmc.data.load_files import load_files


@pytest.fixture
def folder(tmp_path):
    return write_files(tmp_path)


PAIR = {"x": "X.npy", "y": "y.npy"}
BAD = [
    ({"train": {"x": "X.npy"}}, ("`data.train` must name labels", "add `y = ...`")),
    ({"train": "X.npy"}, ("`data.train` must name files as", "got 'X.npy'")),
    ({"train": {"x": 3, "y": "y.npy"}}, ("`data.train.x` must be the name of a file",)),
    ({"train": {"x": "X.npy", "y": []}}, ("`data.train.y` must be columns of `X.npy`",)),
    ({"train": {**PAIR, "columns": "a"}}, ("`data.train.columns` must be columns of",)),
    ({"train": {"x": "X.npy", "z": "y.npy"}}, ("`data.train` has no setting 'z'",)),
    ({"train": {"x": "X.mat", "y": "y.npy"}}, ("X.mat", "is none of the files that are read")),
    ({"train": {"x": "X.mat", "y": "price"}}, ("X.mat", "is none of the files that are read")),
    ({"train": {"x": "Z.npy", "y": "y.npy"}}, ("Z.npy", "is not there")),
    ({"train": {"x": "noise.npy", "y": "y.npy"}}, ("y.npy", "60 rows where `noise.npy` has 7")),
    ({"train": {"x": "table.csv", "y": "prise"}}, ("table.csv", "did you mean `price`")),
    ({"train": {"x": "all.npz:Y", "y": "labels"}}, ("all.npz", "has no array 'Y'")),
    ({"train": PAIR, "tests": PAIR}, ("`data` has no setting 'tests'", "did you mean `test`?")),
    ({"train": PAIR, "task": "ranking"}, ("`data.task` must be one of", "'ranking'")),
    ({"train": PAIR, "labels": "numbers"}, ("`data.labels` must be one of codes, names",)),
    ({"train": PAIR, "standardise": "all"}, ("`data.standardise` must be one of", "'all'")),
    ({"train": PAIR, "standardise": "both"}, ("for a classification, got 'both'",)),
    ({"train": PAIR, "header": "yes"}, ("`data.header` must be true or false",)),
    ({"train": PAIR, "validation": 1.5}, ("`data.validation`", "less than 1, got 1.5")),
    ({"train": PAIR, "validation": 0.001}, ("must leave rows on both sides", "0.001 of 60")),
    ({"train": PAIR, "shifts": ["a"]}, ("`data.shifts` must be named sets of files",)),
    ({"train": PAIR, "shifts": {"a": "X.npy"}}, ("`data.shifts.a` must name files as",)),
    ({}, ("`data.train` must name the files to learn from",)),
]


@pytest.mark.parametrize(("spec", "words"), BAD)
def test_wrong_settings_are_named(folder, spec, words):
    assert_refused(lambda: load_files(spec, base=folder), *words)


def test_a_fraction_and_files_for_validation_exclude_each_other(folder):
    spec = {"train": PAIR, "validation": PAIR}
    call = lambda: load_files(spec, base=folder, validation=0.1)  # noqa: E731
    assert_refused(call, "`data.validation` names files already")


def test_other_splits_must_be_like_the_training_split(folder):
    np.save(folder / "wide.npy", np.zeros((4, 5)))
    np.save(folder / "y4.npy", np.array([0, 1, 2, 3]))
    np.save(folder / "X4.npy", np.zeros((4, 3)))
    np.save(folder / "bytes.npy", np.zeros((4, 3, 3, 1), np.uint8))
    np.save(folder / "two.npy", np.zeros((4, 2)))
    wide = {"x": "wide.npy", "y": "y4.npy"}
    assert_refused(lambda: load(folder, test=wide), "wide.npy", "shape (rows, 3)", "got (4, 5)")
    strange = {"x": "X4.npy", "y": "y4.npy"}
    assert_refused(
        lambda: load(folder, test=strange), "y4.npy", "labels from 0 to 2, got 3 in row 3"
    )
    images = {"o": {"x": "bytes.npy"}}
    assert_refused(lambda: load(folder, out_of_distribution=images), "bytes.npy", "shape (rows, 3)")
    real = {"x": "X.npy", "y": "t.npy"}
    two = {"x": "X4.npy", "y": "two.npy"}
    assert_refused(lambda: load(folder, real, test=two), "two.npy", "2 targets where train has 1")
    np.save(folder / "words.npy", np.array(["a", "b"] * 30))
    np.save(folder / "other.npy", np.array(["a", "b", "c", "a"]))
    words = {"x": "X.npy", "y": "words.npy"}
    other = {"x": "X4.npy", "y": "other.npy"}
    assert_refused(lambda: load(folder, words, test=other), "other.npy", "label 'c' in row 2")


def test_gaps_are_named_by_file_and_row(folder):
    x, t = np.load(folder / "X.npy"), np.load(folder / "t.npy")
    x[5, 1], t[9] = np.nan, np.inf
    np.save(folder / "gap.npy", x)
    np.save(folder / "inf.npy", t)
    gap, infinite = {"x": "gap.npy", "y": "y.npy"}, {"x": "X.npy", "y": "inf.npy"}
    assert_refused(lambda: load(folder, gap), "gap.npy", "must be finite", "row 5")
    assert_refused(lambda: load(folder, infinite), "inf.npy", "must be finite", "row 9")
    np.save(folder / "text.npy", np.array([["a", "b", "c"]] * ROWS))
    text = {"x": "text.npy", "y": "y.npy"}
    assert_refused(lambda: load(folder, text), "text.npy", "holds text ('a')")
    np.save(folder / "one.npy", np.zeros(ROWS, int))
    one = {"x": "X.npy", "y": "one.npy"}
    assert_refused(lambda: load(folder, one), "one.npy", "one class only (0)")
