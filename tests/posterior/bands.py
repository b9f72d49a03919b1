"""Simultaneous confidence bands for the empirical distribution of ranks, by simulation.

The idea of Säilynoja, Bürkner and Vehtari (Statistics and Computing, 2022): at each rank the count
of replicates at or below it is binomial; the band takes the same two-sided tail probability at
every rank, chosen so that all of the empirical distribution is inside with the wanted probability.
"""

import functools

import numpy as np
import scipy.stats

SIMULATIONS = 20_000


def counts_at_or_below(ranks, draws):
    """How many of the ranks, 0 to `draws`, are at most 0, 1, .., `draws` - 1."""
    return np.cumsum(np.bincount(ranks, minlength=draws + 1))[:-1]


def smallest_tail(counts, replicates):
    """The smallest two-sided binomial tail along the last axis of counts (.., draws)."""
    probability = np.arange(1, counts.shape[-1] + 1) / (counts.shape[-1] + 1)
    law = scipy.stats.binom(replicates, probability)
    return np.min(2.0 * np.minimum(law.cdf(counts), law.sf(counts - 1)), axis=-1)


@functools.cache
def simulated_tails(replicates, draws):
    """Sorted smallest tails of uniform ranks."""
    rng = np.random.default_rng(0)
    uniform = np.full(draws + 1, 1 / (draws + 1))
    counts = np.cumsum(rng.multinomial(replicates, uniform, size=SIMULATIONS), axis=1)[:, :-1]
    return np.sort(smallest_tail(counts, replicates))


def band_p_value(ranks, draws):
    """Largest level at which the ranks leave the band: below 0.05 is outside the 95% band."""
    tail = smallest_tail(counts_at_or_below(ranks, draws), len(ranks))
    below = np.searchsorted(simulated_tails(len(ranks), draws), tail, side="right")
    return (below + 1) / (SIMULATIONS + 1)
