"""Predictive mixtures with random parameters, and their components as scipy.stats sees them."""

import numpy as np
from scipy import stats

from pxsgmcmc.metrics import NormalMixture, PoissonMixture, PredictiveMixture, StudentTMixture

KINDS = ("normal", "student_t", "poisson")


def random_mixture(kind: str, shape: tuple[int, int, int] = (5, 7, 2), seed: int = 0):
    """A mixture of this kind, and the same components as one frozen scipy distribution."""
    rng = np.random.default_rng(seed)
    location, scale = rng.normal(size=shape) * 2.0, rng.uniform(0.2, 2.0, shape)
    if kind == "normal":
        return NormalMixture(location, scale), stats.norm(location, scale)
    if kind == "student_t":
        freedom = rng.uniform(2.5, 9.0, shape)
        return StudentTMixture(location, scale, freedom), stats.t(freedom, location, scale)
    rate = np.exp(location)
    return PoissonMixture(rate), stats.poisson(rate)


def observed(mixture: PredictiveMixture, seed: int = 1) -> np.ndarray:
    """What could be observed: a sample of the mixture."""
    return mixture.sample(np.random.default_rng(seed), 1)[0]
