"""Weather: fog, frost, snow and spatter are textures laid over the image."""

import numpy as np

from pxsgmcmc.data._extra import need
from pxsgmcmc.data.corruptions.blur import smooth, streak, zoom_weights
from pxsgmcmc.data.corruptions.frost import frost_texture
from pxsgmcmc.data.corruptions.work import Work, along_rows_and_columns, luminance, tint

WATER = (175, 238, 238)
MUD = (63, 42, 20)


def fog(work: Work, strength: float, decay: float) -> np.ndarray:
    """Add a cloud of height `strength`, then darken so that the brightest pixel keeps its value."""
    rows, columns = work.texture_shape
    cloud = plasma(work, 1 << (max(rows, columns) - 1).bit_length(), decay)
    cloud = work.enlarge(cloud[:, :rows, :columns, None])
    peak = work.pixels.max(axis=(1, 2, 3), keepdims=True)
    return (work.pixels + np.float32(strength) * cloud) * (peak / (peak + np.float32(strength)))


def plasma(work: Work, size: int, decay: float) -> np.ndarray:
    """Fractal clouds (n, size, size) in [0, 1] by the diamond-square rule on a torus.

    From a single point, each pass fills the centres of the squares, then those of the diamonds,
    with the mean of their four neighbours plus uniform noise. The noise of a pass has `decay`
    squared times the size of the next: the published code multiplies by its amplitude twice.
    """
    noise = work.uniform(-1, 1, size, size)
    cloud = np.zeros_like(noise)
    step, amplitude = size, 1.0
    while step > 1:
        half = step // 2
        corners = cloud[:, ::step, ::step]
        total = corners + np.roll(corners, -1, axis=1)
        total = total + np.roll(total, -1, axis=2)
        _fill(cloud, noise, total, amplitude, slice(half, None, step), slice(half, None, step))
        centres = cloud[:, half::step, half::step]
        above = corners + np.roll(corners, -1, axis=2) + centres + np.roll(centres, 1, axis=1)
        left = corners + np.roll(corners, -1, axis=1) + centres + np.roll(centres, 1, axis=2)
        _fill(cloud, noise, above, amplitude, slice(0, None, step), slice(half, None, step))
        _fill(cloud, noise, left, amplitude, slice(half, None, step), slice(0, None, step))
        step, amplitude = half, amplitude / decay**2
    cloud -= cloud.min(axis=(1, 2), keepdims=True)
    return cloud / cloud.max(axis=(1, 2), keepdims=True)


def _fill(cloud, noise, total, amplitude, rows, columns) -> None:
    cloud[:, rows, columns] = total / 4 + np.float32(amplitude) * noise[:, rows, columns]


def frost(work: Work, image_weight: float, frost_weight: float) -> np.ndarray:
    """Weighted sum of the image and a random cut of a frost texture.

    The published set uses photographs of frost; here the texture is drawn, see `frost_texture`.
    """
    texture = frost_texture()
    rows, columns = work.texture_shape
    corner = work.uniform(0, len(texture), 2).astype(np.intp)  # (n, 2)
    down = (corner[:, :1] + np.arange(rows)) % len(texture)
    across = (corner[:, 1:] + np.arange(columns)) % len(texture)
    cut = texture[down[:, :, None], across[:, None, :]]
    if work.pixels.shape[-1] == 1:
        cut = luminance(cut)
    layer = work.enlarge(cut)
    return np.float32(image_weight) * work.pixels + np.float32(frost_weight) * layer


def snow(
    work: Work,
    mean: float,
    deviation: float,
    zoom: float,
    threshold: float,
    radius: int,
    sigma: float,
    kept: float,
) -> np.ndarray:
    """Flakes streaked by the wind, and again turned by half a circle, on a whitened image."""
    rows, columns = work.texture_shape
    flakes = np.float32(mean) + np.float32(deviation) * work.normal(rows, columns, 1)
    flakes = along_rows_and_columns(zoom_weights(rows, zoom), flakes, zoom_weights(columns, zoom))
    flakes = np.where(flakes < threshold, np.float32(0), np.clip(flakes, 0, 1))
    flakes = streak(flakes, work.uniform(-0.75 * np.pi, -0.25 * np.pi), radius, sigma)
    layer = work.enlarge(flakes + flakes[:, ::-1, ::-1])
    white = np.maximum(work.pixels, 1.5 * luminance(work.pixels) + np.float32(0.5))
    return np.float32(kept) * work.pixels + np.float32(1 - kept) * white + layer


def spatter(
    work: Work,
    mean: float,
    deviation: float,
    sigma: float,
    threshold: float,
    intensity: float,
    muddy: bool,
) -> np.ndarray:
    """Drops of water with lit edges, or splashes of mud."""
    liquid = np.float32(mean) + np.float32(deviation) * work.normal(*work.texture_shape, 1)
    liquid = smooth(liquid, sigma)
    liquid = np.where(liquid < threshold, np.float32(0), liquid)
    channels = work.pixels.shape[-1]
    if muddy:
        cover = smooth((liquid > threshold).astype(np.float32), intensity)
        cover = work.enlarge(np.where(cover < 0.8, np.float32(0), cover))
        return work.pixels * (1 - cover) + cover * tint(MUD, channels)
    relief = np.clip(liquid, 0, 1) * edge_relief(liquid[..., 0] > 0)[..., None]
    peak = relief.max(axis=(1, 2, 3), keepdims=True)
    shine = np.divide(relief, peak, out=np.zeros_like(relief), where=peak > 0)
    return work.pixels + work.enlarge(np.float32(intensity) * shine) * tint(WATER, channels)


def edge_relief(drops: np.ndarray) -> np.ndarray:
    """Light falling from the upper left on drops (n, h, w): 0 .. 255, strong near their edges.

    Distance to the nearest edge, cut at 20 pixels, smoothed, spread to use all grey levels,
    embossed and smoothed again.
    """
    ndimage = need("scipy.ndimage", "`spatter`")
    inner = ndimage.binary_erosion(drops, np.ones((1, 3, 3)), border_value=True)
    edge = drops & ~inner
    far = np.where(edge.any(axis=(1, 2), keepdims=True), 0.0, 20.0)
    distance = np.stack([ndimage.distance_transform_edt(~one) for one in edge])
    distance = np.minimum(np.maximum(distance, far), 20.0)
    grey = _equalise(np.rint(_box3(distance)).astype(np.intp))
    emboss = np.array([[[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]], np.float32)
    lit = np.clip(ndimage.correlate(grey, emboss, mode="mirror"), 0, 255)
    return _box3(lit)


def _box3(x: np.ndarray) -> np.ndarray:
    ndimage = need("scipy.ndimage", "`spatter`")
    return ndimage.uniform_filter(x, (1, 3, 3), mode="mirror")


def _equalise(grey: np.ndarray) -> np.ndarray:
    """Spread the levels of each image (n, h, w) in 0 .. 255 so that their histogram is flat."""
    n = len(grey)
    flat = grey.reshape(n, -1)
    level = np.arange(n)[:, None] * 256
    below = np.bincount((level + flat).ravel(), minlength=256 * n).reshape(n, 256).cumsum(axis=1)
    first = np.take_along_axis(below, flat.min(axis=1, keepdims=True), axis=1)
    spread = 255 * (below - first) / np.maximum(flat.shape[1] - first, 1)
    equal = np.take_along_axis(np.rint(spread), flat, axis=1)
    return equal.reshape(grey.shape).astype(np.float32)
