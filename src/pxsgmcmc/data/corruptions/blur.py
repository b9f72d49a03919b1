"""Blurs: out of focus, through glass, in motion, while zooming."""

import functools
import math
from typing import Any

import numpy as np

from pxsgmcmc.data._extra import need
from pxsgmcmc.data.corruptions.work import Work, kronecker, resample


def smooth(x: np.ndarray, sigma: float, mode: str = "nearest", truncate: float = 4.0) -> np.ndarray:
    """Gaussian blur over axes 1 and 2 of (n, height, width, channels)."""
    if sigma == 0.0:
        return x
    ndimage = need("scipy.ndimage", "Blurring images")
    return ndimage.gaussian_filter(x, (0, sigma, sigma, 0), mode=mode, truncate=truncate)


def gaussian_blur(work: Work, sigma: float) -> np.ndarray:
    """Gaussian blur, the border pixel repeated outwards."""
    return smooth(work.pixels, sigma * work.scale)


def glass_blur(work: Work, sigma: float, shift: int, rounds: int) -> np.ndarray:
    """Blur, let every pixel be replaced by a near one `rounds` times, blur again.

    The replacement comes from up to `shift` pixels above or left and `shift` - 1 below or right;
    pixels within `shift` of the upper or left border, and the last ones, stay. The published code
    means to swap two pixels but copies one over the other; taken from the last pixel to the first
    with shift 1, that is the same as reading all of them at once, which is done here.
    """
    x = smooth(work.pixels, sigma * work.scale)
    n, height, width, _ = x.shape
    reach = max(1, round(shift * work.scale))
    rows, columns = (
        np.arange(reach + 1, height - reach + 1),
        np.arange(reach + 1, width - reach + 1),
    )
    image = np.arange(n)[:, None, None]
    for _ in range(rounds):
        offsets = work.uniform(-reach, reach, 2, len(rows), len(columns))
        down, across = np.moveaxis(np.floor(offsets).astype(np.intp), 1, 0)
        moved = x[image, rows[:, None] + down, columns + across]
        x = x.copy()
        x[:, reach + 1 : height - reach + 1, reach + 1 : width - reach + 1] = moved
    return smooth(x, sigma * work.scale)


def defocus_blur(work: Work, radius: float, alias_sigma: float) -> np.ndarray:
    """Average over a disc."""
    kernel = stepped_disc(radius, alias_sigma)
    if work.scale != 1.0:
        # Small discs on a pixel grid are what the grid makes of them, so they are scaled by effect:
        # the variance of this kernel, scaled, is that of a true disc (a quarter of radius squared).
        variance = (kernel.sum(axis=0) * (np.arange(len(kernel)) - len(kernel) // 2) ** 2).sum()
        kernel = smooth_disc(2 * math.sqrt(variance) * work.scale)
    reach = len(kernel) // 2
    _, height, width, _ = work.pixels.shape
    padded = np.pad(work.pixels, ((0, 0), (reach, reach), (reach, reach), (0, 0)), "reflect")
    blurred = np.zeros_like(work.pixels)
    for down, across in np.argwhere(kernel > 1e-6):
        window = padded[:, down : down + height, across : across + width]
        blurred += kernel[down, across] * window
    return blurred


def stepped_disc(radius: float, sigma: float) -> np.ndarray:
    """Equal weights on the pixels within `radius`, blurred by a Gaussian cut to 3 x 3 pixels.

    Example:
      >>> (5 * stepped_disc(1.0, 0.1)[1:4, 1:4]).round(2).tolist()
      [[0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 0.0]]
    """
    reach = math.floor(radius) + 1
    line = np.arange(-reach, reach + 1)
    inside = (line[:, None] ** 2 + line**2 <= radius**2).astype(np.float32)
    side = math.exp(-1 / (2 * sigma**2))
    soft = (np.eye(len(line)) + side * (np.eye(len(line), k=1) + np.eye(len(line), k=-1))) / (
        1 + 2 * side
    )
    kernel = soft @ inside @ soft
    return (kernel / kernel.sum()).astype(np.float32)


def smooth_disc(radius: float) -> np.ndarray:
    """Weights in proportion to the area of each pixel inside a disc, from 8 x 8 points a pixel.

    Example:
      >>> smooth_disc(0.4).tolist()
      [[1.0]]
    """
    reach = math.ceil(radius - 0.5)
    pixels = 2 * reach + 1
    point = (np.arange(8 * pixels) + 0.5) / 8 - pixels / 2
    inside = point[:, None] ** 2 + point**2 <= radius**2
    area = inside.reshape(pixels, 8, pixels, 8).sum(axis=(1, 3))
    return (area / area.sum()).astype(np.float32)


def motion_blur(work: Work, radius: float, sigma: float) -> np.ndarray:
    """A streak of random direction within 45 degrees of the horizontal."""
    angles = work.uniform(-np.pi / 4, np.pi / 4)
    return streak(work.pixels, angles, round(radius * work.scale), sigma * work.scale)


def streak(x: np.ndarray, angles: np.ndarray, radius: int, sigma: float) -> np.ndarray:
    """Mean of 2 radius + 1 pixels in direction `angles` (n,), weights falling as half a Gaussian.

    One-sided and rounded to whole pixels, as ImageMagick does it; border pixels repeat outwards.
    """
    _, height, width, _ = x.shape
    distance = np.arange(2 * radius + 1)
    weights = np.exp(-(distance**2) / (2 * sigma**2))
    distance = distance[weights > 1e-5]  # the others change nothing that eight bits could show
    weights = (weights[distance] / weights[distance].sum()).astype(np.float32)
    blurred = np.zeros_like(x)
    for i in distance:
        steps = np.ceil(i * np.stack([np.sin(angles), np.cos(angles)], axis=1) - 0.5).astype(int)
        offsets, group = np.unique(steps, axis=0, return_inverse=True)
        for k, (down, across) in enumerate(offsets):
            members = np.flatnonzero(group == k)
            rows = np.clip(np.arange(height) + down, 0, height - 1)
            columns = np.clip(np.arange(width) + across, 0, width - 1)
            blurred[members] += weights[i] * x[members].take(rows, 1).take(columns, 2)
    return blurred


def zoom_blur(work: Work, largest: float) -> np.ndarray:
    """Mean of the image and of its enlargements by 1, 1.01, .. `largest` about the centre."""
    _, height, width, _ = work.pixels.shape
    return resample(zoom_blur_matrix(height, width, largest), work.pixels, (height, width))


@functools.lru_cache(maxsize=8)  # one chunk of images after another needs the same
def zoom_blur_matrix(height: int, width: int, largest: float) -> Any:
    """`zoom_blur` as one sparse matrix on flattened images."""
    total = kronecker(zoom_weights(height, 1.0), zoom_weights(width, 1.0))
    factors = 1.0 + 0.01 * np.arange(round((largest - 1.0) / 0.01) + 1)
    for factor in factors:
        total = total + kronecker(zoom_weights(height, factor), zoom_weights(width, factor))
    return (total / (len(factors) + 1)).astype(np.float32)


def zoom_weights(size: int, factor: float) -> np.ndarray:
    """Weights (size, size) that enlarge the middle of a line bilinearly and trim it to `size`.

    The middle is a whole number of pixels, ceil(size / factor), so small factors act in jumps.
    """
    ndimage = need("scipy.ndimage", "Zooming images")
    middle = math.ceil(size / factor)
    start = (size - middle) // 2
    large = ndimage.zoom(np.eye(size)[start : start + middle], (factor, 1), order=1)
    trim = (len(large) - size) // 2
    return large[trim : trim + size].astype(np.float32)
