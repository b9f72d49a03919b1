"""Noise, drawn for every pixel and channel by itself."""

import numpy as np

from pxsgmcmc.data.corruptions.work import Work


def gaussian_noise(work: Work, deviation: float) -> np.ndarray:
    """X + N(0, deviation^2)."""
    return work.pixels + np.float32(deviation) * work.normal(*work.pixels.shape[1:])


def shot_noise(work: Work, photons: float) -> np.ndarray:
    """Poisson(x photons) / photons: variance x / photons."""
    counts = [g.poisson(x * photons) for g, x in zip(work.generators, work.pixels, strict=True)]
    return np.stack(counts).astype(np.float32) / np.float32(photons)


def impulse_noise(work: Work, amount: float) -> np.ndarray:
    """Salt and pepper: a share `amount` of the values, half of it white, the other half black."""
    u = work.uniform(0.0, 1.0, *work.pixels.shape[1:])
    black = np.where(u < amount / 2, np.float32(0), work.pixels)
    return np.where(u >= 1 - amount / 2, np.float32(1), black)


def speckle_noise(work: Work, deviation: float) -> np.ndarray:
    """X + x N(0, deviation^2): noise in proportion to the value."""
    return work.pixels * (1 + np.float32(deviation) * work.normal(*work.pixels.shape[1:]))
