"""Where a cumulative distribution reaches a level: many at once, continuous or counting."""

from collections.abc import Callable

import numpy as np

Cdf = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (x, which entries x belongs to) -> F(x)


def invert_cdf(cdf: Cdf, level: float, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Solve F(x) = level entry by entry between `low` and `high`, by Chandrupatla's method (1997).

    Args:
      cdf: F of the entries whose positions are its second argument; increasing.
      level: between 0 and 1.
      low: (entries,) where F is at most `level`, up to rounding.
      high: (entries,) where F is at least `level`, up to rounding.

    Returns:
      (entries,), F of which differs from `level` by rounding alone.

    Example:
      >>> from scipy.special import ndtr
      >>> zeros, sevens = np.zeros(2), np.full(2, 7.0)
      >>> invert_cdf(lambda x, entries: ndtr(x), 0.975, zeros, sevens).round(6)
      array([1.959964, 1.959964])
    """
    from scipy.optimize import elementwise  # slow to import, and few commands need it

    # Components that agree leave no bracket: a little more on both sides makes one.
    slack = 1e-9 * (np.abs(low) + np.abs(high) + (high - low)) + 1e-300
    solution = elementwise.find_root(
        lambda x, entries: cdf(x, entries) - level,
        (low - slack, high + slack),
        args=(np.arange(low.size),),
    )
    # Where F is `level` to rounding on all of the bracket, no sign changes: any point will do.
    return np.where(solution.success, solution.x, 0.5 * (low + high))


def invert_counting_cdf(cdf: Cdf, level: float, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Smallest whole number whose F reaches `level`, entry by entry, by halving the bracket.

    Args:
      cdf: as in `invert_cdf`.
      level: between 0 and 1.
      low: (entries,) whole numbers, none above the answer.
      high: (entries,) whole numbers, none below the answer.

    Example:
      >>> from scipy.special import pdtr
      >>> invert_counting_cdf(lambda k, entries: pdtr(k, 3.0), 0.9, np.zeros(1), np.full(1, 50.0))
      array([5.])
    """
    low, high = low.astype(np.float64), high.astype(np.float64)
    entries = np.arange(low.size)
    while (open_entries := entries[low < high]).size:
        middle = np.floor(0.5 * (low[open_entries] + high[open_entries]))
        reached = cdf(middle, open_entries) >= level
        high[open_entries[reached]] = middle[reached]
        low[open_entries[~reached]] = middle[~reached] + 1.0
    return high
