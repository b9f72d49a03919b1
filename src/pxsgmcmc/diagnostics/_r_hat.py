"""R-hat: whether chains, and their halves, have come to the same place (Vehtari et al., 2021).

Each chain is cut in two. R-hat is the root of the variance of all values over the mean variance
within a half: 1 when halves cannot be told apart. Values are replaced by normal scores of their
ranks, so that heavy tails do no harm, and the larger of the R-hat of the values and that of their
distance from the median is taken, so that halves of different spread are noticed too.
"""

import numpy as np

from pxsgmcmc.errors import UserError


def r_hat(values: np.ndarray) -> np.ndarray:
    """Rank-normalised split R-hat of each quantity.

    Args:
      values: (chains, draws, ...), at least 4 draws a chain.

    Returns:
      (...); NaN where nothing changes, infinity where halves stand still in different places.

    Example:
      >>> energy = np.random.default_rng(0).normal(size=(4, 100))
      >>> bool(r_hat(energy) < 1.05)
      True
    """
    values = np.asarray(values, np.float64)
    if values.ndim < 2 or values.shape[1] < 4:
        raise UserError(
            f"`values` must be (chains, draws, ...) with at least 4 draws, got {values.shape}."
        )
    half = values.shape[1] // 2
    halves = np.concatenate([values[:, :half], values[:, -half:]])  # (2 chains, half, ...)
    shape = halves.shape
    halves = halves.reshape(shape[0], half, -1)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    larger = np.fmax(_plain(_normal_scores(halves)), _plain(_normal_scores(folded)))
    larger[(halves == halves[:1, :1]).all(axis=(0, 1))] = np.nan
    return larger.reshape(shape[2:])


def _normal_scores(values: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri

    flat = values.reshape(-1, values.shape[-1])
    return ndtri((_ranks(flat) - 0.375) / (len(flat) + 0.25)).reshape(values.shape)


def _ranks(columns: np.ndarray) -> np.ndarray:
    """From 1 in each column, equal values sharing the mean of theirs; NaN where a column has one.

    `scipy.stats` has them too, but takes half a second to import, at the end of every run.
    """
    ranks = np.empty(columns.shape)
    for number, column in enumerate(columns.T):
        _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
        ranks[:, number] = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return np.where(np.isnan(columns).any(axis=0), np.nan, ranks)


def _plain(halves: np.ndarray) -> np.ndarray:
    length = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = length * halves.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt((between / within + length - 1) / length)
