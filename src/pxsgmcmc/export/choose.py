"""Which draws go into a frozen predictor, if not all of them."""

from collections.abc import Sequence

import numpy as np

from pxsgmcmc.errors import UserError, check_count


def check_draws(draws: int | None, there: int) -> int:
    """How many to keep; all if it was not said."""
    if draws is None:
        return there
    check_count("draws", draws, at_least=1)
    if draws > there:
        raise UserError(f"`draws` must be at most the {there} that the run has, got {draws}.")
    return draws


def evenly(count: int, there: int) -> list[int]:
    """Places spread over a list, its last one included.

    Example: chains that stand one behind the other each give their share.
      >>> evenly(4, 12)
      [2, 5, 8, 11]
    """
    return [-(-number * there // count) - 1 for number in range(1, count + 1)]


def greedily(count: int, log_densities: Sequence[np.ndarray]) -> list[int]:
    """Places of the draws chosen one by one, each the one that makes the average predict best.

    Args:
      count: how many to choose.
      log_densities: for each draw, the log-probability of each held-out target, (rows,).

    Example: the second is best alone; the first knows most of what it misses.
      >>> greedily(2, np.log([[0.95, 0.35, 0.3], [0.5, 0.5, 0.5], [0.4, 0.4, 0.4]]))
      [0, 1]
    """
    left, chosen = list(range(len(log_densities))), list[int]()
    total = np.full(len(log_densities[0]), -np.inf)
    for _ in range(count):
        scores = [np.logaddexp(total, log_densities[draw]).mean() for draw in left]
        best = left.pop(int(np.argmax(scores)))
        total = np.logaddexp(total, log_densities[best])
        chosen.append(best)
    return sorted(chosen)
