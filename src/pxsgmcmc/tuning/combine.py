"""One measurement out of several, along a chain.

Gradient noise at one position of a network that nearly fits its data may be a tenth of that at the
next, and curvature a third. A chain is heated by the mean of the noise over its positions and is
stable only if it is so at the stiffest of them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pxsgmcmc.tuning.laws import GroupTerrain, Spectrum
from pxsgmcmc.tuning.measure import GroupScales, Measurement


def combine(measurements: Sequence[Measurement]) -> Measurement:
    """The largest curvatures and the mean noise of measurements at several positions.

    Args:
      measurements: of the same energy, at least one.
    """
    first = measurements[0]
    names = list(first.terrain)
    return replace(
        first,
        terrain={name: _terrain([one.terrain[name] for one in measurements]) for name in names},
        scales={name: _scales([one.scales[name] for one in measurements]) for name in names},
        largest=max(one.largest for one in measurements),
        error=max(one.error for one in measurements),
        layers={name: max(one.layers[name] for one in measurements) for name in first.layers},
    )


def _terrain(several: Sequence[GroupTerrain]) -> GroupTerrain:
    stiffest = max(several, key=lambda one: one.stiffest)
    noises = np.array([one.noise for one in several])
    weights = noises if noises.any() else np.ones(len(several))
    return several[0]._replace(
        curvatures=_mixture([one.curvatures for one in several], np.ones(len(several))),
        noise=float(noises.mean()),
        noise_curvatures=_mixture([one.noise_curvatures for one in several], weights),
        stiffest=stiffest.stiffest,
        stiffest_noise=stiffest.stiffest_noise,
        softest=min(one.softest for one in several),
    )


def _mixture(spectra: Sequence[Spectrum], weights: np.ndarray) -> Spectrum:
    shares = weights / weights.sum()
    return Spectrum(
        np.concatenate([one.curvatures for one in spectra]),
        np.concatenate([share * one.shares for share, one in zip(shares, spectra, strict=True)]),
    )


def _scales(several: Sequence[GroupScales]) -> GroupScales:
    gradient = float(np.sqrt(np.mean([one.gradient**2 for one in several])))
    priors = [one.prior for one in several if one.prior is not None]
    return GroupScales(gradient, float(np.mean(priors)) if priors else None)
