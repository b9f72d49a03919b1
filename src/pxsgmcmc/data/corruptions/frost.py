"""A frost texture drawn by rule, in place of photographs: ice ferns on a cold pane.

A stem grows from a random point; from it side needles leave at 60 degrees, shorter towards the tip,
and from these smaller ones again. Thousands of needles on a torus, their density turned into
brightness, over a slowly varying film of ice.
"""

import functools

import numpy as np

SIZE = 256  # pixels a side, at 32 pixels an image
DARK = np.array([58, 78, 104], np.float32) / 255
BRIGHT = np.array([236, 244, 252], np.float32) / 255


@functools.cache
def frost_texture() -> np.ndarray:
    """The texture (256, 256, 3) in [0, 1]; its opposite edges fit, and it is always the same.

    Example:
      >>> frost_texture().shape, bool(frost_texture().min() > 0.1)
      ((256, 256, 3), True)
    """
    rng = np.random.default_rng(1867)
    # One stem in each cell of a 10 x 10 grid, so that hardly any cut of 32 x 32 stays bare.
    cell = np.stack(np.divmod(np.arange(100), 10), axis=1)
    root = (cell + rng.random((100, 2))) * (SIZE / 10)
    stems = np.column_stack([root, rng.uniform(0, 2 * np.pi, 100), rng.uniform(12, 60, 100)])
    needles = _branches(rng, stems, every=5.0, share=0.5)
    twigs = _branches(rng, needles, every=4.0, share=0.4)
    ice = 1.4 * _density(stems) + 1.0 * _density(needles) + 0.6 * _density(twigs)
    bright = 1 - np.exp(-(0.9 * ice + 1.2 * _film(rng) ** 2))
    return DARK + (BRIGHT - DARK) * bright[..., None].astype(np.float32)


def _branches(
    rng: np.random.Generator, stems: np.ndarray, *, every: float, share: float
) -> np.ndarray:
    """Side needles of stems (row, column, angle, length), on both sides, shrinking to the tip."""
    grown = []
    for row, column, angle, length in stems:
        along = np.arange(every / 2, length, every / 2)
        along = along + rng.uniform(-0.4, 0.4, len(along)) * every
        side = np.where(np.arange(len(along)) % 2, 1, -1) * np.pi / 3
        grown.append(
            np.column_stack(
                [
                    row + along * np.sin(angle),
                    column + along * np.cos(angle),
                    angle + side + rng.normal(0, 0.08, len(along)),
                    share * rng.uniform(0.5, 1.2, len(along)) * np.maximum(length - along, 0),
                ]
            )
        )
    return np.concatenate(grown)


def _density(needles: np.ndarray) -> np.ndarray:
    """How much needle passes through each pixel, every half pixel of it shared among four."""
    count = np.maximum(1, (2 * needles[:, 3]).astype(int))
    needle = np.repeat(np.arange(len(needles)), count)
    along = 0.5 * (np.arange(len(needle)) - np.repeat(np.cumsum(count) - count, count))
    row = needles[needle, 0] + along * np.sin(needles[needle, 2])
    column = needles[needle, 1] + along * np.cos(needles[needle, 2])
    density = np.zeros(SIZE * SIZE)
    for down in (0, 1):
        for across in (0, 1):
            i, j = np.floor(row) + down, np.floor(column) + across
            weight = 0.5 * (1 - np.abs(row - i)) * (1 - np.abs(column - j))
            pixel = (i % SIZE) * SIZE + j % SIZE
            density += np.bincount(pixel.astype(np.intp), weight, SIZE * SIZE)
    return density.reshape(SIZE, SIZE)


def _film(rng: np.random.Generator) -> np.ndarray:
    """Smooth noise in [0, 1] whose power falls with the cube of the frequency."""
    frequency = np.fft.fftfreq(SIZE) * SIZE
    radius = np.maximum(np.hypot(frequency[:, None], frequency), 1.0)
    spectrum = np.fft.fft2(rng.standard_normal((SIZE, SIZE))) * radius**-1.5
    film = np.fft.ifft2(spectrum).real
    return (film - film.min()) / (film.max() - film.min())
