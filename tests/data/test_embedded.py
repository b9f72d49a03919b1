"""The embedded sets: sizes, splits, facts written once, and that they show what they should."""

import sys
from typing import Any

import numpy as np
import pytest

from pxsgmcmc.data._embedded import ABOUT, EMBEDDED, area_weights, load_embedded
from pxsgmcmc.data._fingerprint import fingerprint
from pxsgmcmc.errors import UserError

IMAGE_SHAPES = {
    "digits": (8, 8, 1),
    "digits-shift": (8, 8, 1),
    "photos-sklearn": (8, 8, 1),
    "photos-skimage": (8, 8, 1),
    "photos-sklearn-rgb": (32, 32, 3),
    "photos-skimage-rgb": (32, 32, 3),
    "mnist5k": (28, 28, 1),
    "mnist5k-14": (14, 14, 1),
}
SIZES = {
    "digits": {"train": 1000, "validation": 297, "test": 500},
    "digits-shift": {"test": 5000},
    "photos-sklearn": {"test": 1000},
    "photos-skimage": {"test": 1000},
    "photos-sklearn-rgb": {"test": 502},
    "photos-skimage-rgb": {"test": 585},
    "mnist5k": {"train": 4000, "validation": 500, "test": 500},
    "mnist5k-14": {"train": 4000, "validation": 500, "test": 500},
    "breast_cancer": {"train": 400, "validation": 69, "test": 100},
    "wine": {"train": 120, "validation": 18, "test": 40},
    "diabetes": {"train": 300, "validation": 42, "test": 100},
    "two-moons": {"train": 600, "validation": 200, "test": 200},
    "sinusoid": {"train": 120, "validation": 40, "test": 40},
}


@pytest.fixture(scope="module")
def sets():
    return {name: load_embedded(name) for name in EMBEDDED}


@pytest.mark.parametrize("name", EMBEDDED)
def test_a_set_has_its_name_its_sizes_and_its_hash(name, sets):
    data = sets[name]
    assert data.name == name
    assert {split: len(rows.x) for split, rows in data.splits.items()} == SIZES[name]
    assert data.sha256 == fingerprint(data.splits)


@pytest.mark.parametrize("name", IMAGE_SHAPES)
def test_images_are_bytes_and_labels_are_classes(name, sets):
    for x, y in sets[name].splits.values():
        assert x.dtype == np.uint8 and x.shape[1:] == IMAGE_SHAPES[name]
        assert (x.min(), x.max()) == (0, 255) or name.startswith("photos")
        if y is not None:
            assert y.dtype == np.int32 and set(y) == set(range(10))
            assert sets[name].classes == tuple("0123456789")


@pytest.mark.parametrize("name", ["digits", "mnist5k", "mnist5k-14"])
def test_the_constants_are_those_of_the_training_split(name, sets):
    pixels = sets[name].splits["train"].x / 255
    assert abs(pixels.mean() - sets[name].mean[0]) < 0.0005
    assert abs(pixels.std() - sets[name].std[0]) < 0.0005


def test_companions_of_digits_are_normalised_like_digits(sets):
    for name in ("digits-shift", "photos-sklearn", "photos-skimage"):
        assert (sets[name].mean, sets[name].std) == (sets["digits"].mean, sets["digits"].std)


# scikit-learn's photographs are JPEG files, whose pixels may differ by the decoder.
@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("digits", "f41b7176bbc6"),
        ("digits-shift", "7074ef20771f"),
        ("mnist5k", "18917206f0b1"),
        ("breast_cancer", "feab4c95769b"),
        ("wine", "5a75a9c75a58"),
        ("diabetes", "a452b4411687"),
    ],
)
def test_the_rows_of_each_split_are_fixed_for_good(name, start, sets):
    assert sets[name].sha256.startswith(start)


def test_splits_of_digits_share_no_row_and_miss_none(sets):
    from sklearn import datasets

    source: Any = datasets.load_digits()
    together = np.concatenate([rows.x.reshape(-1, 64) for rows in sets["digits"].splits.values()])
    original = np.rint(source.data * 255 / 16).astype(np.uint8)
    assert sorted(map(bytes, together)) == sorted(map(bytes, original))


TABLES = {"breast_cancer": (30, 2), "wine": (13, 3), "diabetes": (10, 0)}  # features, classes


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_named_columns_and_the_scale_of_its_training_rows(name, sets):
    data, (features, classes) = sets[name], TABLES[name]
    x, y = data.splits["train"]
    assert x.dtype == np.float32 and x.shape[1] == len(data.feature_names) == features
    assert len(data.classes) == classes
    standardised = data.inputs.apply(x)
    np.testing.assert_allclose(standardised.mean(axis=0), 0.0, atol=1e-5)
    np.testing.assert_allclose(standardised.std(axis=0), 1.0, rtol=1e-5)
    if classes:
        assert y.dtype == np.int32 and set(y) == set(range(classes))
        assert data.task == "classification" and data.targets is None
    else:
        assert y.dtype == np.float32 and y.shape == (len(x), 1)
        assert data.task == "regression" and data.target_names == ("progression",)
        np.testing.assert_allclose(data.targets.apply(y).std(), 1.0, rtol=1e-5)
        np.testing.assert_allclose(data.targets.undo(data.targets.apply(y)), y, rtol=1e-5)


@pytest.mark.parametrize("name", TABLES)
def test_splits_of_a_table_share_no_row_and_miss_none(name, sets):
    from sklearn import datasets

    options = {"scaled": False} if name == "diabetes" else {}
    source: Any = getattr(datasets, f"load_{name}")(**options)
    pairs = [np.column_stack([x, y]) for x, y in sets[name].splits.values()]
    original = np.column_stack([source.data, source.target]).astype(np.float32)
    assert sorted(map(bytes, np.concatenate(pairs).astype(np.float32))) == sorted(
        map(bytes, original)
    )


def test_only_sets_with_targets_are_regressions(sets):
    tasks = {name: data.task for name, data in sets.items()}
    assert {name for name, task in tasks.items() if task == "regression"} == {
        "diabetes",
        "sinusoid",
    }
    assert {name for name, task in tasks.items() if task is None} == {
        "photos-sklearn",
        "photos-skimage",
        "photos-sklearn-rgb",
        "photos-skimage-rgb",
    }


@pytest.mark.parametrize("name", ["digits", "mnist5k", "breast_cancer", "wine"])
def test_every_split_has_the_classes_in_proportion(name, sets):
    counts = {split: np.bincount(rows.y) for split, rows in sets[name].splits.items()}
    whole = sum(counts.values())
    for split, count in counts.items():
        share = SIZES[name][split] / sum(SIZES[name].values())
        assert np.abs(count - share * whole).max() < 1.0
    mixed = np.unique(sets[name].splits["train"].y[:50])
    assert len(mixed) == len(whole), "classes are not mixed"


def test_small_mnist_is_the_mean_of_the_large_one(sets):
    for split, (large, labels) in sets["mnist5k"].splits.items():
        small = sets["mnist5k-14"].splits[split]
        assert (small.y == labels).all()
        blocks = large.reshape(-1, 14, 2, 14, 2).astype(float).mean(axis=(2, 4))
        assert np.abs(blocks - small.x[..., 0]).max() <= 0.5


def test_area_weights_average_exactly_also_over_parts_of_pixels():
    weights = area_weights(28, 8)  # 3.5 pixels each
    assert weights[0, :5].tolist() == [2 / 7, 2 / 7, 2 / 7, 1 / 7, 0]
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    np.testing.assert_allclose(weights.sum(axis=0), 8 / 28)  # every pixel counts alike
    np.testing.assert_allclose(area_weights(8, 8), np.eye(8))


def test_shifted_digits_fill_the_frame_like_digits_do(sets):
    for name in ("digits", "digits-shift"):
        x = sets[name].splits["test"].x[..., 0]
        assert (x[:, 0].max(axis=1) > 0).mean() > 0.98 and (x[:, 7].max(axis=1) > 0).mean() > 0.98
        assert x.max(axis=(1, 2)).min() > 200
        middle = x[:, :, 1:7].sum() / x.sum()
        assert middle > 0.97


def test_the_shift_is_hard_but_readable_and_photos_are_not_digits(sets):
    """A classifier of `digits`: nearly right on its own test split, half right on the shift."""
    from sklearn import neighbors

    def flat(split):
        return split.x.reshape(len(split.x), 64) / 255

    train = sets["digits"].splits["train"]
    model = neighbors.KNeighborsClassifier(3).fit(flat(train), train.y)
    accuracy = {
        name: model.score(flat(sets[name].splits["test"]), sets[name].splits["test"].y)
        for name in ("digits", "digits-shift")
    }
    assert accuracy["digits"] > 0.97
    assert 0.45 < accuracy["digits-shift"] < 0.75

    def to_nearest_digit(images):
        gaps = ((images[:200, None] - flat(train)[None]) ** 2).sum(axis=-1)
        return np.sqrt(gaps.min(axis=1)).mean()

    own = to_nearest_digit(flat(sets["digits"].splits["test"]))
    for name in ("photos-sklearn", "photos-skimage"):
        assert to_nearest_digit(flat(sets[name].splits["test"])) > 1.5 * own


def test_photo_patches_differ_from_each_other_and_are_not_flat(sets):
    for name in ("photos-sklearn", "photos-skimage"):
        x = sets[name].splits["test"].x
        assert len({patch.tobytes() for patch in x}) == 1000
        assert x.std(axis=(1, 2, 3)).min() > 3.5
        assert sets[name].splits["test"].y is None and sets[name].classes == ()


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UserError, match=r"is called 'cifar'; known: digits, digits-"):
        load_embedded("cifar")
    with pytest.raises(UserError, match=r"is called 'digit'; did you mean `digits`\?"):
        load_embedded("digit")


def test_every_embedded_set_is_described():
    assert list(ABOUT) == list(EMBEDDED)


def test_a_set_whose_package_is_missing_is_refused_in_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(UserError, match=r"^`digits` needs the extra `data` \(sklearn is not inst"):
        load_embedded("digits")
