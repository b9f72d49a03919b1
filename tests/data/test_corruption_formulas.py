"""Corruptions against hand-worked numbers, closed forms and independent programs."""

import io
import math

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage, stats

from pxsgmcmc.data._extra import need
from pxsgmcmc.data.corruptions import CORRUPTIONS, corrupt
from pxsgmcmc.data.corruptions.blur import glass_blur, stepped_disc, streak, zoom_weights
from pxsgmcmc.data.corruptions.digital import elastic_transform, read_between
from pxsgmcmc.data.corruptions.frost import frost_texture
from pxsgmcmc.data.corruptions.weather import MUD, plasma
from pxsgmcmc.data.corruptions.work import Work
from pxsgmcmc.errors import UserError

Z = 5.0  # standard errors; a false alarm once in 1.7 million for a normal statistic


def flat(value: int, count: int = 40) -> np.ndarray:
    return np.full((count, 32, 32, 3), value, np.uint8)


def random_images(count: int, side: int = 32, channels: int = 3) -> np.ndarray:
    rng = np.random.default_rng(7)
    return rng.integers(0, 256, (count, side, side, channels), dtype=np.uint8)


def work_on(pixels: np.ndarray) -> Work:
    """Always the same generators, so that a test can draw what a corruption drew."""
    generators = [np.random.default_rng(index) for index in range(len(pixels))]
    return Work(pixels.astype(np.float32), generators, scale=1.0)


def point(row: int = 16, column: int = 16) -> np.ndarray:
    image = np.zeros((1, 32, 32, 1), np.uint8)
    image[0, row, column] = 255
    return image


@pytest.mark.parametrize(
    ("name", "deviations"),
    [
        ("gaussian_noise", [0.04, 0.06, 0.08, 0.09, 0.10]),
        ("speckle_noise", [0.4 * c for c in (0.06, 0.10, 0.12, 0.16, 0.20)]),
    ],
)
def test_noise_on_a_flat_image_has_the_variance_of_its_formula(name, deviations):
    for severity, deviation in enumerate(deviations, start=1):
        noisy = corrupt(flat(102), name, severity, seed=3).astype(float)  # 102 / 255 = 0.4
        variance = (255 * deviation) ** 2 + 1 / 12  # truncation adds a uniform error
        count = noisy.size
        assert abs(noisy.mean() - (102 - 0.5)) < Z * math.sqrt(variance / count) + 0.02
        assert abs(noisy.var() / variance - 1) < Z * math.sqrt(2 / count) + 0.005


def test_shot_noise_has_the_mean_and_variance_of_truncated_poisson_counts():
    for severity, photons in enumerate((500, 250, 100, 75, 50), start=1):
        noisy = corrupt(flat(102), "shot_noise", severity, seed=3).astype(float)
        count = np.arange(photons)  # brighter than white: too rare to see
        chance = stats.poisson.pmf(count, 0.4 * photons)
        value = np.floor(255 * count / photons + 1e-3)
        mean = chance @ value
        variance, fourth = (chance @ (value - mean) ** power for power in (2, 4))
        assert abs(noisy.mean() - mean) < Z * math.sqrt(variance / noisy.size)
        error = math.sqrt((fourth - variance**2) / noisy.size)
        assert abs(noisy.var() - variance) < Z * error


def test_impulse_noise_makes_the_given_share_white_or_black_in_equal_parts():
    for severity, amount in enumerate((0.01, 0.02, 0.03, 0.05, 0.07), start=1):
        noisy = corrupt(flat(100), "impulse_noise", severity, seed=2)
        for value in (0, 255):
            error = math.sqrt(amount / 2 * (1 - amount / 2) / noisy.size)
            assert abs((noisy == value).mean() - amount / 2) < Z * error
        assert np.isin(noisy, (0, 100, 255)).all()


def test_contrast_shrinks_the_distance_to_the_channel_mean():
    image = np.full((1, 4, 4, 3), 50, np.uint8)
    image[:, :2] = 150  # mean 100
    assert set(corrupt(image, "contrast", 2, seed=0).ravel()) == {75, 125}  # factor 0.5
    assert set(corrupt(image, "contrast", 5, seed=0).ravel()) == {92, 107}  # 92.5 and 107.5


def colour(*rgb: int) -> np.ndarray:
    return np.broadcast_to(np.array(rgb, np.uint8), (1, 4, 4, 3))


@pytest.mark.parametrize(
    ("name", "severity", "before", "after"),
    [
        ("brightness", 2, (100, 50, 0), (125, 62, 0)),  # times 125.5 / 100
        ("brightness", 2, (0, 0, 0), (25, 25, 25)),
        ("brightness", 5, (255, 51, 0), (255, 51, 0)),  # as bright as can be
        ("saturate", 1, (200, 100, 50), (200, 170, 155)),  # distances to 200 times 0.3
        ("saturate", 5, (200, 100, 50), (200, 66, 0)),  # saturation 0.75 -> 1
        ("saturate", 5, (100, 100, 100), (100, 80, 80)),  # grey counts as red, saturation 0.2
        ("saturate", 5, (0, 0, 0), (0, 0, 0)),
    ],
)
def test_colours_worked_by_hand(name, severity, before, after):
    out = corrupt(colour(*before), name, severity, seed=0)
    assert out[0, 0, 0].tolist() == list(after)


@pytest.mark.parametrize("severity", range(1, 6))
def test_brightness_and_saturation_agree_with_conversion_to_hsv_and_back(severity):
    from skimage.color import hsv2rgb, rgb2hsv

    images = random_images(4)
    hsv = rgb2hsv(images / 255)
    bright, vivid = hsv.copy(), hsv.copy()
    bright[..., 2] += CORRUPTIONS["brightness"].levels[severity - 1][0]
    factor, addition = CORRUPTIONS["saturate"].levels[severity - 1]
    vivid[..., 1] = vivid[..., 1] * factor + addition
    for name, changed in (("brightness", bright), ("saturate", vivid)):
        expected = 255 * hsv2rgb(np.clip(changed, 0, 1))
        error = expected - corrupt(images, name, severity, seed=0)
        assert -0.01 < error.min() and error.max() < 1.0  # truncated


def test_saturate_leaves_grey_images_as_they_are():
    images = random_images(3, channels=1)
    assert (corrupt(images, "saturate", 5, seed=0) == images).all()


@pytest.mark.parametrize(("severity", "cells"), [(1, 30), (2, 28), (3, 27), (4, 24), (5, 20)])
def test_pixelate_is_pillows_box_filter_down_and_up(severity, cells):
    images, box = random_images(5), Image.Resampling.BOX
    small = [Image.fromarray(one).resize((cells, cells), box) for one in images]
    expected = np.stack([np.asarray(one.resize((32, 32), box)) for one in small]).astype(int)
    # Pillow rounds after each direction, we truncate once.
    assert np.isin(expected - corrupt(images, "pixelate", severity, seed=0), (-1, 0, 1)).all()


@pytest.mark.parametrize("channels", [1, 3])
def test_jpeg_is_pillows_at_the_given_quality(channels):
    image = corrupt(random_images(1, channels=channels), "gaussian_blur", 5, seed=0)
    file = io.BytesIO()
    Image.fromarray(image[0].squeeze()).save(file, "JPEG", quality=58)
    expected = np.asarray(Image.open(file)).reshape(image[0].shape)
    assert (corrupt(image, "jpeg_compression", 3, seed=0)[0] == expected).all()


FLAT_STAYS = ["gaussian_blur", "glass_blur", "defocus_blur", "motion_blur", "zoom_blur", "contrast"]


@pytest.mark.parametrize("name", [*FLAT_STAYS, "pixelate", "elastic_transform"])
@pytest.mark.parametrize("side", [8, 14, 32, 96])
def test_a_flat_image_stays_flat(name, side):
    image = np.full((2, side, side, 3), 77, np.uint8)
    for severity in (1, 5):
        assert (corrupt(image, name, severity, seed=0) == 77).all()


def test_gaussian_blur_of_a_point_is_a_sampled_gaussian():
    blurred = corrupt(point(), "gaussian_blur", 5, seed=0)[0, ..., 0]
    line = np.exp(-(np.arange(-4, 5) ** 2) / 2)  # sigma 1, cut at 4
    line /= line.sum()
    assert (blurred[12:21, 12:21] == np.floor(255 * np.outer(line, line))).all()


def test_small_images_are_blurred_as_pictures_of_fat_pixels():
    images = random_images(3, side=8, channels=1)
    fine = images.repeat(4, axis=1).repeat(4, axis=2).astype(float)
    blurred = ndimage.gaussian_filter(fine, (0, 0.8, 0.8, 0), mode="nearest")
    expected = blurred.reshape(3, 8, 4, 8, 4).mean(axis=(2, 4))[..., None]
    error = expected - corrupt(images, "gaussian_blur", 4, seed=0)
    assert -0.01 < error.min() and error.max() < 1.0


def test_defocus_at_its_strongest_is_a_mean_over_three_by_three():
    blurred = corrupt(point(), "defocus_blur", 5, seed=0)[0, ..., 0]
    assert (blurred[15:18, 15:18] == 28).all()  # 255 / 9 = 28.3
    assert blurred.sum() == 9 * 28


def test_defocus_at_its_weakest_is_a_gaussian_on_three_by_three():
    side = math.exp(-1 / (2 * 0.4**2))
    line = np.array([side, 1, side]) / (1 + 2 * side)
    np.testing.assert_allclose(stepped_disc(0.3, 0.4), np.outer(line, line), rtol=1e-6)


def test_motion_smears_a_point_to_one_side_along_the_angle():
    x = np.zeros((2, 32, 32, 1), np.float32)
    x[:, 16, 16] = 1
    blurred = streak(x, np.array([0.0, np.pi / 4]), radius=6, sigma=1.5)[..., 0]
    weights = np.exp(-(np.arange(13) ** 2) / (2 * 1.5**2))
    weights /= weights.sum()
    np.testing.assert_allclose(blurred[0, 16, 16 - np.arange(7)], weights[:7], atol=1e-6)
    diagonal = blurred[1, 16 - np.arange(4), 16 - np.arange(4)]
    # Steps of 1, 2, 3 pixels at 45 degrees round to (1, 1), (1, 1), (2, 2).
    np.testing.assert_allclose(diagonal[:2], [weights[0], weights[1] + weights[2]], atol=1e-6)
    np.testing.assert_allclose(blurred.sum(axis=(1, 2)), 1.0, atol=1e-4)


def test_motion_angles_stay_within_45_degrees():
    blurred = corrupt(point().repeat(50, axis=0), "motion_blur", 5, seed=0)[..., 0]
    _, row, column = np.nonzero(blurred)
    assert (column <= 16).all() and (np.abs(row - 16) <= 16 - column + 1e-9).all()
    assert (row < 16).any() and (row > 16).any()


def test_zoom_agrees_with_zooming_the_middle_of_an_image():
    image = random_images(1, channels=1)[0, ..., 0] / 255
    for factor in (1.0, 1.05, 1.13, 1.25, 2.25):
        middle = math.ceil(32 / factor)
        start = (32 - middle) // 2
        inner = image[start : start + middle, start : start + middle]
        large = np.asarray(ndimage.zoom(inner, factor, order=1))
        trim = (len(large) - 32) // 2
        expected = large[trim : trim + 32, trim : trim + 32]
        weights = zoom_weights(32, factor)
        np.testing.assert_allclose(weights @ image @ weights.T, expected, atol=1e-6)


def test_zoom_blur_averages_the_image_with_its_enlargements():
    image = random_images(1, channels=1)
    x = image[0, ..., 0].astype(float)
    weights = [zoom_weights(32, 1 + 0.01 * k).astype(float) for k in range(6)]
    expected = (x + sum(w @ x @ w.T for w in weights)) / 7
    error = expected - corrupt(image, "zoom_blur", 1, seed=0)[0, ..., 0]
    assert -0.01 < error.min() and error.max() < 1.0


def test_glass_is_the_published_loop_that_copies_from_the_last_pixel_to_the_first():
    pixels = random_images(3) / np.float32(255)
    shuffled = glass_blur(work_on(pixels), 0.0, 1, 2)
    draws = work_on(pixels)
    expected = pixels.copy()
    for _ in range(2):
        offsets = np.floor(draws.uniform(-1, 1, 2, 30, 30)).astype(int)
        for image in range(3):
            for row in range(31, 1, -1):
                for column in range(31, 1, -1):
                    down, across = offsets[image, :, row - 2, column - 2]
                    expected[image, row, column] = expected[image, row + down, column + across]
    assert (shuffled == expected).all()
    assert (shuffled != pixels).any()


def test_plasma_on_two_by_two_is_worked_by_hand():
    work = work_on(np.zeros((1, 4, 4, 1)))
    cloud = plasma(work, 2, decay=3.0)[0]
    noise = work_on(np.zeros((1, 4, 4, 1))).uniform(-1, 1, 2, 2)[0]
    centre = noise[1, 1]
    raw = np.array([[0.0, centre / 2 + noise[0, 1]], [centre / 2 + noise[1, 0], centre]])
    np.testing.assert_allclose(cloud, (raw - raw.min()) / np.ptp(raw), atol=1e-6)


def test_slow_decay_makes_rough_clouds():
    work = work_on(np.zeros((50, 4, 4, 1)))
    rough, smooth = (np.abs(np.diff(plasma(work, 32, d), axis=1)).mean() for d in (1.75, 3.0))
    assert rough > 1.3 * smooth


def test_fog_on_white_lies_between_the_cloudless_and_the_full_value():
    out = corrupt(flat(255, 5), "fog", 1, seed=0)  # (1 + 0.2 cloud) / 1.2, cloud from 0 to 1
    assert out.max() == 255 and out.min() == 212
    assert (corrupt(flat(0, 1), "fog", 5, seed=0) == 0).all()


def test_frost_is_the_weighted_sum_with_a_cut_of_the_texture():
    texture = frost_texture()
    black, white = (corrupt(flat(v, 3), "frost", 3, seed=0).astype(int) for v in (0, 255))
    low, high = 0.4 * 255 * texture.min(), 0.4 * 255 * texture.max()
    assert low - 1 <= black.min() and black.max() <= high
    assert (white == np.minimum(255, black + round(0.9 * 255))).mean() > 0.5  # up to truncation
    assert len({image.tobytes() for image in black}) == 3


def test_snow_never_darkens_and_spatter_of_water_neither():
    images = random_images(5)
    for name, severity in (("snow", 1), ("snow", 5), ("spatter", 3)):
        out = corrupt(images, name, severity, seed=0).astype(int)
        assert (out >= images.astype(int) - 1).all() and (out > images).any()


def test_mud_lies_between_the_image_and_its_colour():
    images = random_images(5)
    out = corrupt(images, "spatter", 5, seed=0).astype(int)
    low, high = np.minimum(images, MUD), np.maximum(images, MUD)
    assert ((out >= low - 1) & (out <= high)).all() and (out != images).any()


def test_reading_between_pixels_is_bilinear_with_two_ways_to_mirror():
    x = np.array([0.0, 1.0, 4.0], np.float32).reshape(1, 1, 3, 1).repeat(3, axis=1)

    def read(column: float, *, edge_twice: bool) -> float:
        points = np.full((1, 3, 3, 2), 1.0)
        points[..., 1] = column
        return float(read_between(x, points, edge_twice=edge_twice)[0, 0, 0, 0])

    assert read(1.25, edge_twice=False) == 1.75
    assert [read(c, edge_twice=False) for c in (-1.0, 3.0, 4.0)] == [1.0, 1.0, 0.0]
    assert [read(c, edge_twice=True) for c in (-1.0, 3.0, 4.0)] == [0.0, 4.0, 1.0]


def test_elastic_without_strength_is_the_identity():
    pixels = random_images(2) / np.float32(255)
    out = elastic_transform(work_on(pixels), 0.0, 0.0, 0.0)
    np.testing.assert_allclose(out, pixels, atol=1e-6)


def test_elastic_moves_three_points_where_it_says():
    # On an image whose channels are the row and the column, the output is the map itself.
    row, column = np.meshgrid(np.arange(32), np.arange(32), indexing="ij")
    pixels = np.stack([row, column, 0 * row], axis=-1)[None]
    out = elastic_transform(work_on(pixels), 0.0, 0.0, 0.05)[0, 8:24, 8:24, :2]
    inputs = np.stack([row, column, np.ones_like(row)], axis=-1)[8:24, 8:24].reshape(-1, 3)
    affine, *_ = np.linalg.lstsq(inputs, out.reshape(-1, 2), rcond=None)
    corners = np.array([[26, 26], [26, 6], [6, 6]])
    moved = corners + 0.05 * 32 * work_on(pixels).uniform(-1, 1, 3, 2)[0]
    np.testing.assert_allclose(np.c_[moved, np.ones(3)] @ affine, corners, atol=1e-3)


def test_the_frost_texture_is_fixed_varied_and_seamless():
    texture = frost_texture()
    assert texture.shape == (256, 256, 3) and 0 < texture.min() and texture.max() <= 1
    np.testing.assert_allclose(texture.mean(axis=(0, 1)), [0.499, 0.559, 0.633], atol=1e-3)
    inside = np.abs(np.diff(texture, axis=0)).mean()
    seam = np.abs(texture[0] - texture[-1]).mean()
    assert seam < 1.5 * inside


def test_a_missing_package_is_named_with_the_extra_that_brings_it():
    with pytest.raises(UserError) as caught:
        need("no_such_package.inside", "`fog`")
    assert str(caught.value) == (
        "`fog` needs the extra `data` (no_such_package is not installed): "
        "pip install 'pxsgmcmc[data]'."
    )
