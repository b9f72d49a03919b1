"""Promises that every corruption keeps, and the shape of the whole."""

import time

import numpy as np
import pytest

from pxsgmcmc.data import corruptions
from pxsgmcmc.data._embedded import load_embedded
from pxsgmcmc.data.corruptions import CORRUPTIONS, SEVERITIES, corrupt
from pxsgmcmc.errors import UserError

SETTLED = ("gaussian_blur", "defocus_blur", "zoom_blur", "contrast", "brightness", "saturate")
SETTLED += ("jpeg_compression", "pixelate")  # no randomness in these

# Not among these: saturate goes down, then up; glass blurs more (smaller error) at 3 than at 2;
# frost, spatter and elastic trade one effect for another; motion is the same at 3 and 4 but for
# weights below a hundredth.
STRONGER = (
    *("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise", "gaussian_blur"),
    *("defocus_blur", "zoom_blur", "fog", "snow", "contrast", "brightness", "jpeg_compression"),
)


def tiles(photo: np.ndarray, side: int) -> np.ndarray:
    down, across = photo.shape[0] // side, photo.shape[1] // side
    blocks = photo[: down * side, : across * side].reshape(down, side, across, side, 3)
    return blocks.transpose(0, 2, 1, 3, 4).reshape(-1, side, side, 3)


@pytest.fixture(scope="module")
def photos() -> np.ndarray:
    """(64, 32, 32, 3) pieces of a photograph."""
    from skimage import data

    return tiles(data.astronaut(), 32)[::4]


@pytest.fixture(scope="module")
def digits() -> np.ndarray:
    return load_embedded("digits").splits["test"].x[:100]


def distance(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((x.astype(float) - y) ** 2)))


def test_there_are_nineteen_with_five_severities_each():
    assert len(CORRUPTIONS) == 19
    assert all(len(corruption.levels) == 5 for corruption in CORRUPTIONS.values())


@pytest.mark.parametrize("shape", [(32, 32, 3), (8, 8, 1), (20, 33, 3), (4, 9, 1), (50, 40, 1)])
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_keeps_shape_and_dtype_at_any_size(name, shape):
    images = np.random.default_rng(0).integers(0, 256, (2, *shape), dtype=np.uint8)
    before = images.copy()
    for severity in (1, 3, 5):
        out = corrupt(images, name, severity, seed=0)
        assert out.shape == images.shape and out.dtype == np.uint8
    assert (images == before).all(), "the input was written to"


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_same_seed_same_images_other_seed_other_images(name, photos):
    once, again = (corrupt(photos[:8], name, 3, seed=5) for _ in range(2))
    other = corrupt(photos[:8], name, 3, seed=6)
    assert (once == again).all()
    assert (once == other).all() == (name in SETTLED)


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_parts_made_apart_equal_the_whole(name, photos, monkeypatch):
    whole = corrupt(photos[:7], name, 4, seed=1)
    monkeypatch.setattr(corruptions, "CHUNK", 2)
    parts = [corrupt(photos[start : start + 3], name, 4, seed=1, first=start) for start in (0, 3)]
    assert (np.concatenate(parts) == whole[:6]).all()


@pytest.mark.parametrize("name", sorted(set(CORRUPTIONS) - set(SETTLED)))
def test_equal_images_in_a_set_are_corrupted_differently(name, photos):
    out = corrupt(photos[[5, 5]], name, 5, seed=0)
    assert (out[0] != out[1]).any()


def test_severities_and_corruptions_have_noise_of_their_own():
    grey = np.full((20, 32, 32, 3), 128, np.uint8)
    noises = [
        corrupt(grey, "gaussian_noise", 1, seed=0),
        corrupt(grey, "gaussian_noise", 2, seed=0),
        corrupt(grey, "speckle_noise", 1, seed=0),
    ]
    correlation = np.corrcoef([noise.ravel() for noise in noises])
    # Five standard errors: a false alarm in 600,000 runs.
    assert np.abs(correlation - np.eye(3)).max() < 5 / np.sqrt(grey.size)


@pytest.mark.parametrize("name", STRONGER)
def test_distance_to_the_original_grows_with_severity(name, photos, digits):
    for images in (photos, digits):
        steps = [distance(images, corrupt(images, name, s, seed=0)) for s in SEVERITIES]
        assert 0 < steps[0] and (np.diff(steps) > 0).all(), steps


def test_pixelate_grows_with_severity_where_cells_differ(photos):
    steps = [distance(photos, corrupt(photos, "pixelate", s, seed=0)) for s in SEVERITIES]
    assert (np.diff(steps) > 0).all()


def test_motion_grows_but_for_the_level_that_is_nearly_the_one_before(photos, digits):
    for images in (photos, digits):
        steps = [distance(images, corrupt(images, "motion_blur", s, seed=0)) for s in (1, 2, 3, 5)]
        assert (np.diff(steps) > 0).all()


@pytest.mark.parametrize(
    ("name", "weak", "strong"), [("frost", 1, 5), ("spatter", 1, 3), ("glass_blur", 3, 5)]
)
def test_the_others_grow_from_end_to_end(name, weak, strong, photos, digits):
    for images in (photos, digits):
        ends = [distance(images, corrupt(images, name, s, seed=0)) for s in (weak, strong)]
        assert ends[0] < ends[1]


def test_names_the_bad_argument(photos):
    with pytest.raises(UserError, match=r"No corruption is called 'rain'; known: gaussian_noise"):
        corrupt(photos, "rain", 1, seed=0)
    for severity in (0, 6, 2.5, "3", True):
        with pytest.raises(UserError, match="`severity` must be 1, 2, 3, 4 or 5, got"):
            corrupt(photos, "fog", severity, seed=0)  # type: ignore[arg-type]
    for seed in (-1, 0.5, None):
        with pytest.raises(UserError, match="`seed` must be a whole number"):
            corrupt(photos, "fog", 1, seed=seed)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="`first`"):
        corrupt(photos, "fog", 1, seed=0, first=-1)


@pytest.mark.parametrize(
    "images",
    [
        np.zeros((2, 8, 8, 1)),
        np.zeros((8, 8, 1), np.uint8),
        np.zeros((2, 8, 8, 2), np.uint8),
        np.zeros((2, 3, 8, 1), np.uint8),
        [[1, 2], [3, 4]],
    ],
)
def test_refuses_what_is_not_a_batch_of_images(images):
    with pytest.raises(UserError, match="`images` must be a uint8 array"):
        corrupt(images, "contrast", 1, seed=0)


def test_no_images_give_no_images():
    assert corrupt(np.zeros((0, 8, 8, 1), np.uint8), "fog", 1, seed=0).shape == (0, 8, 8, 1)


@pytest.mark.slow
def test_ten_thousand_images_take_less_than_a_minute(photos, capsys):
    images = np.tile(photos, (157, 1, 1, 1))[:10_000]
    seconds = {}
    for name in CORRUPTIONS:
        start = time.perf_counter()
        corrupt(images, name, 5, seed=0)
        seconds[name] = time.perf_counter() - start
    with capsys.disabled():
        print("\n" + "\n".join(f"{name:18s} {taken:5.1f} s" for name, taken in seconds.items()))
    assert max(seconds.values()) < 60
