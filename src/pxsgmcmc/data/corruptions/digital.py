"""What cameras and file formats do: contrast, brightness, saturation, JPEG, pixels, stretching."""

import io

import numpy as np

from pxsgmcmc.data._extra import need
from pxsgmcmc.data.corruptions.blur import smooth
from pxsgmcmc.data.corruptions.work import Work, along_rows_and_columns


def contrast(work: Work, factor: float) -> np.ndarray:
    """Shrink the distance to each channel's mean."""
    mean = work.pixels.mean(axis=(1, 2), keepdims=True)
    return (work.pixels - mean) * np.float32(factor) + mean


def brightness(work: Work, addition: float) -> np.ndarray:
    """Add to the value of hue-saturation-value colour; hue and saturation stay.

    Value is the largest channel v, so the channels are multiplied by (v + addition) / v; black
    turns grey.
    """
    value = work.pixels.max(axis=-1, keepdims=True)
    brighter = np.minimum(value + np.float32(addition), 1)
    ratio = np.divide(work.pixels, value, out=np.ones_like(work.pixels), where=value > 0)
    return ratio * brighter


def saturate(work: Work, factor: float, addition: float) -> np.ndarray:
    """Map the saturation s of hue-saturation-value colour to s factor + addition, cut to [0, 1].

    With v the largest channel and s = 1 - smallest / v, the channels' distances to v are multiplied
    by the ratio of new to old saturation. Grey has no hue; by convention it is red, so where
    something is added it turns reddish. An image with one channel has no colour and is unchanged.
    """
    x = work.pixels
    if x.shape[-1] == 1:
        return x
    value = x.max(axis=-1, keepdims=True)
    below = value - x
    span = below.max(axis=-1, keepdims=True)
    saturation = np.divide(span, value, out=np.zeros_like(value), where=value > 0)
    wanted = np.clip(saturation * np.float32(factor) + np.float32(addition), 0, 1)
    red = np.zeros_like(x) + np.array([0, 1, 1], x.dtype)
    direction = np.divide(below, span, out=red, where=span > 0)
    return value * (1 - wanted * direction)


def jpeg_compression(work: Work, quality: int) -> np.ndarray:
    """Write as JPEG of the given quality (1 .. 95) and read back."""
    image_module = need("PIL.Image", "`jpeg_compression`")
    stored = np.rint(work.pixels * 255).astype(np.uint8)
    read = np.empty_like(stored)
    for index, one in enumerate(stored):
        file = io.BytesIO()
        image = image_module.fromarray(one if one.shape[-1] == 3 else one[..., 0])
        image.save(file, "JPEG", quality=quality)
        read[index] = np.asarray(image_module.open(file)).reshape(one.shape)
    return read.astype(np.float32) / np.float32(255)


def pixelate(work: Work, share: float) -> np.ndarray:
    """Show int(share size) cells a side, each the mean of the pixels whose centres fall in it.

    This is what shrinking and enlarging with Pillow's box filter does. Sizes are whole numbers, so
    on 8 x 8 images (7, 7, 6, 6 and 5 cells) severities 1 and 2 are equal, and so are 3 and 4.
    """
    _, height, width, _ = work.pixels.shape
    down, across = cell_means(height, int(share * height)), cell_means(width, int(share * width))
    return along_rows_and_columns(down, work.pixels, across)


def cell_means(size: int, cells: int) -> np.ndarray:
    """Weights (size, size) that turn each pixel of a line into the mean of its cell.

    Example:
      >>> cell_means(4, 3).tolist()
      [[1.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0], [0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.0, 1.0]]
    """
    cell = (2 * np.arange(size) + 1) * cells // (2 * size)
    together = (cell[:, None] == cell).astype(np.float32)
    return together / together.sum(axis=1, keepdims=True)


def elastic_transform(work: Work, strength: float, sigma: float, affine: float) -> np.ndarray:
    """A random affine map, then a smooth random displacement field; all lengths in image widths.

    Three points a third of the side from the centre move by up to `affine` in each direction and
    fix the affine map. The field is uniform noise in [-1, 1] blurred by `sigma`, times `strength`.
    """
    x = work.pixels
    _, height, width, _ = x.shape
    side = min(height, width)
    centre, arm = np.array([height // 2, width // 2]), side // 3
    corners = centre + arm * np.array([[1, 1], [1, -1], [-1, -1]])  # (3, 2)
    moved = corners + affine * side * work.uniform(-1, 1, 3, 2).astype(float)
    # Where does an output pixel come from? From the map that takes `moved` back to `corners`.
    ones = np.ones((len(x), 3, 1))
    back = np.linalg.solve(np.concatenate([moved, ones], axis=2), corners.astype(float))
    grid = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), axis=-1)
    source = grid @ back[:, None, :2] + back[:, None, None, 2]
    x = read_between(x, source, edge_twice=False)
    if strength == 0.0:
        return x
    noise = work.uniform(-1, 1, height, width, 2)
    field = strength * side * smooth(noise, sigma * side, mode="reflect", truncate=3.0)
    return read_between(x, grid + field, edge_twice=True)


def read_between(x: np.ndarray, points: np.ndarray, *, edge_twice: bool) -> np.ndarray:
    """Bilinear values of images (n, h, w, c) at points (n, h, w, 2) given as (row, column).

    Outside, the image is mirrored, with its edge pixels once or twice.
    """
    n, height, width, channels = x.shape
    corner = np.floor(points)
    part = (points - corner).astype(np.float32)
    corner = corner.astype(np.intp)
    first = np.arange(n)[:, None, None] * height
    flat = x.reshape(-1, channels)
    value = np.zeros_like(x)
    for down in (0, 1):
        row = _mirror(corner[..., 0] + down, height, edge_twice)
        row_weight = part[..., 0] if down else 1 - part[..., 0]
        for across in (0, 1):
            column = _mirror(corner[..., 1] + across, width, edge_twice)
            weight = row_weight * (part[..., 1] if across else 1 - part[..., 1])
            value += weight[..., None] * flat.take((first + row) * width + column, axis=0)
    return value


def _mirror(index: np.ndarray, size: int, edge_twice: bool) -> np.ndarray:
    period = 2 * size if edge_twice else 2 * size - 2
    index = index % period
    return np.minimum(index, (period - 1 if edge_twice else period) - index)
