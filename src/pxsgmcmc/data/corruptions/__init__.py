"""The 19 corruptions of CIFAR-10-C at five severities, for images of any size, grey or colour.

Names and constants are those of Hendrycks and Dietterich, "Benchmarking Neural Network Robustness
to Common Corruptions and Perturbations" (2019), as used for their 32 x 32 images; `work` says how
they carry over to other sizes. Their archive was made without a seed, so no program can remake it
bit for bit: use the archive for published numbers, this for any other images. Two things differ
beyond chance: frost is a drawn texture instead of photographs, and motion blur and spatter's edges
follow the definitions of ImageMagick and OpenCV without calling them.
"""

import math
import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pxsgmcmc.data.corruptions import blur, digital, noise, weather
from pxsgmcmc.data.corruptions.work import BASE, Work, coarsen, refine
from pxsgmcmc.errors import UserError, check_count, did_you_mean

SEVERITIES = (1, 2, 3, 4, 5)
CHUNK = 250  # images worked on at once: some ten megabytes, whatever their number


class Corruption(NamedTuple):
    """A function of the work and its constants, a row of them for each severity."""

    apply: Callable[..., np.ndarray]
    spatial: bool  # whether it needs the working grid, see `work`
    levels: tuple[tuple, ...]


def _singly(*constants: float) -> tuple[tuple, ...]:
    return tuple((constant,) for constant in constants)


CORRUPTIONS: dict[str, Corruption] = {
    "gaussian_noise": Corruption(
        noise.gaussian_noise, False, _singly(0.04, 0.06, 0.08, 0.09, 0.10)
    ),
    "shot_noise": Corruption(noise.shot_noise, False, _singly(500, 250, 100, 75, 50)),
    "impulse_noise": Corruption(noise.impulse_noise, False, _singly(0.01, 0.02, 0.03, 0.05, 0.07)),
    "speckle_noise": Corruption(noise.speckle_noise, False, _singly(0.06, 0.10, 0.12, 0.16, 0.20)),
    "gaussian_blur": Corruption(blur.gaussian_blur, True, _singly(0.4, 0.6, 0.7, 0.8, 1.0)),
    "glass_blur": Corruption(  # sigma, shift, rounds
        blur.glass_blur,
        True,
        ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)),
    ),
    "defocus_blur": Corruption(  # radius, sigma of its softening
        blur.defocus_blur, True, ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1.0, 0.2), (1.5, 0.1))
    ),
    "motion_blur": Corruption(  # radius, sigma
        blur.motion_blur, True, ((6, 1.0), (6, 1.5), (6, 2.0), (8, 2.0), (9, 2.5))
    ),
    "zoom_blur": Corruption(blur.zoom_blur, True, _singly(1.05, 1.10, 1.15, 1.20, 1.25)),
    "fog": Corruption(  # strength, decay
        weather.fog, True, ((0.2, 3.0), (0.5, 3.0), (0.75, 2.5), (1.0, 2.0), (1.5, 1.75))
    ),
    "frost": Corruption(  # weight of the image, weight of the frost
        weather.frost, True, ((1.0, 0.2), (1.0, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45))
    ),
    "snow": Corruption(  # mean, deviation, zoom, threshold, radius, sigma, share of the image kept
        weather.snow,
        True,
        (
            (0.1, 0.2, 1.0, 0.6, 8, 3.0, 0.95),
            (0.1, 0.2, 1.0, 0.5, 10, 4.0, 0.9),
            (0.15, 0.3, 1.75, 0.55, 10, 4.0, 0.9),
            (0.25, 0.3, 2.25, 0.6, 12, 6.0, 0.85),
            (0.3, 0.3, 1.25, 0.65, 14, 12.0, 0.8),
        ),
    ),
    "spatter": Corruption(  # mean, deviation, sigma, threshold, intensity, mud instead of water
        weather.spatter,
        True,
        (
            (0.62, 0.1, 0.7, 0.7, 0.5, False),
            (0.65, 0.1, 0.8, 0.7, 0.5, False),
            (0.65, 0.3, 1.0, 0.69, 0.5, False),
            (0.65, 0.1, 0.7, 0.69, 0.6, True),
            (0.65, 0.1, 0.5, 0.68, 0.6, True),
        ),
    ),
    "contrast": Corruption(digital.contrast, False, _singly(0.75, 0.5, 0.4, 0.3, 0.15)),
    "brightness": Corruption(digital.brightness, False, _singly(0.05, 0.1, 0.15, 0.2, 0.3)),
    "saturate": Corruption(  # factor, addition
        digital.saturate, False, ((0.3, 0.0), (0.1, 0.0), (1.5, 0.0), (2.0, 0.1), (2.5, 0.2))
    ),
    "jpeg_compression": Corruption(digital.jpeg_compression, False, _singly(80, 65, 58, 50, 40)),
    "pixelate": Corruption(digital.pixelate, False, _singly(0.95, 0.9, 0.85, 0.75, 0.65)),
    "elastic_transform": Corruption(  # strength, sigma, affine
        digital.elastic_transform,
        True,
        (
            (0.0, 0.0, 0.08),
            (0.05, 0.2, 0.07),
            (0.08, 0.06, 0.06),
            (0.1, 0.04, 0.05),
            (0.1, 0.03, 0.03),
        ),
    ),
}


def corrupt(
    images: np.ndarray, name: str, severity: int, *, seed: int, first: int = 0
) -> np.ndarray:
    """Corrupt images.

    What happens to an image depends on `seed`, `name`, `severity` and its number alone, so a set
    may be done in parts, in any order and by several processes.

    Args:
      images: (n, height, width, channels) uint8, sides of at least 4, one channel or three (RGB).
      name: one of `CORRUPTIONS`.
      severity: 1 (weak) to 5.
      seed: a whole number.
      first: the number of `images[0]` within its set.

    Returns:
      As `images`. Values are cut to [0, 255] and truncated, as in the published set.

    Example:
      >>> grey = np.full((1, 8, 8, 1), 128, np.uint8)
      >>> corrupt(grey, "brightness", 5, seed=0).max()  # 128 + 0.3 * 255
      np.uint8(204)
    """
    if name not in CORRUPTIONS:
        raise UserError(f"No corruption is called {name!r}; {did_you_mean(name, CORRUPTIONS)}")
    if isinstance(severity, bool) or severity not in SEVERITIES:
        raise UserError(f"`severity` must be 1, 2, 3, 4 or 5, got {severity!r}.")
    check_count("seed", seed)
    check_count("first", first)
    _check_images(images)
    out = np.empty(images.shape, np.uint8)
    for start in range(0, len(images), CHUNK):
        chunk = images[start : start + CHUNK]
        numbers = range(first + start, first + start + len(chunk))
        stream = (seed, zlib.crc32(name.encode()), severity)
        generators = [np.random.default_rng((*stream, number)) for number in numbers]
        out[start : start + CHUNK] = _corrupt_chunk(chunk, CORRUPTIONS[name], severity, generators)
    return out


def _corrupt_chunk(images, corruption: Corruption, severity: int, generators) -> np.ndarray:
    constants = corruption.levels[severity - 1]
    pixels = images.astype(np.float32) / np.float32(255)
    if corruption.spatial:
        side = min(images.shape[1:3])
        fold = math.ceil(BASE / side)
        work = Work(refine(pixels, fold), generators, scale=fold * side / BASE)
        changed = coarsen(corruption.apply(work, *constants), fold)
    else:
        changed = corruption.apply(Work(pixels, generators, scale=1.0), *constants)
    # A thousandth of a level keeps rounding errors of float32 from costing a whole one.
    return (np.clip(changed, 0, 1) * 255 + 1e-3).astype(np.uint8)


def _check_images(images: np.ndarray) -> None:
    shape = getattr(images, "shape", ())
    right = getattr(images, "dtype", None) == np.uint8 and len(shape) == 4 and shape[3] in (1, 3)
    if not right or min(shape[1:3]) < 4:
        raise UserError(
            "`images` must be a uint8 array (n, height, width, channels) with sides of at least 4 "
            f"and 1 or 3 channels, got {getattr(images, 'dtype', type(images).__name__)} "
            f"of shape {tuple(shape)}."
        )
