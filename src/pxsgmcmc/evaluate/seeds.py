"""Whether two methods differ, judged from a handful of seeds each. All p-values are two-sided.

Student's tests take the values for normal; a few seeds cannot show whether that is so. The
permutation test takes nothing for granted but that the labels could be exchanged, and pays: with n
seeds each its p-value is at least 2 / (2n choose n), with n pairs of seeds 2 / 2^n.
"""

from collections.abc import Sequence
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np

from pxsgmcmc.errors import UserError

MOST_WAYS = 200_000  # that are gone through one by one; above it, as many at random
_ROUNDING = 1e-12  # relative, below which two values are the same


def t_test(
    first: Sequence[float], second: Sequence[float], *, paired: bool = False
) -> float | None:
    """p-value of Welch's test, or of Student's on the differences of pairs.

    None where it is not defined: with one value, or without any spread.

    Example:
      >>> round(t_test([1.0, 2.0, 3.0], [3.0, 4.0, 6.0]), 4)
      0.1021
    """
    from scipy import stats  # half a second that other commands should not wait for

    a, b = _checked(first, second, paired)
    if min(len(a), len(b)) < 2:
        return None
    samples = [b - a] if paired else [a, b]
    spread = np.sqrt(sum(sample.var(ddof=1) / len(sample) for sample in samples))
    if spread <= _ROUNDING * max(abs(a).max(), abs(b).max()):
        return None
    test: Any = stats.ttest_rel(a, b) if paired else stats.ttest_ind(a, b, equal_var=False)
    return float(test.pvalue)


def permutation_test(
    first: Sequence[float], second: Sequence[float], *, paired: bool = False
) -> float:
    """Share of the ways to exchange labels that give a difference of means at least as large.

    Unpaired, the values are dealt out to the two methods anew in every way; paired, the two values
    of any pairs change places. Above `MOST_WAYS` ways a random choice of them stands for all, the
    same in every call, and the way seen is counted as one more: the p-value is never zero.

    SciPy's own test refuses a single value and takes eight times as long over ten seeds each.

    Example:
      >>> permutation_test([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])  # 2 of 20 ways
      0.1
    """
    a, b = _checked(first, second, paired)
    ways = number_of_ways(len(a), len(b), paired=paired)
    differences = _flipped(b - a, ways) if paired else _dealt(a, b, ways)
    seen = abs(b.mean() - a.mean())
    scale = max(abs(a).max(), abs(b).max())
    as_large = int(np.sum(np.abs(differences) >= seen - _ROUNDING * scale))
    exact = ways <= MOST_WAYS
    return as_large / ways if exact else (as_large + 1) / (len(differences) + 1)


def smallest_p(first: int, second: int, *, paired: bool = False) -> float:
    """The smallest p-value `permutation_test` can give for so many values.

    Example:
      >>> smallest_p(2, 2), smallest_p(2, 2, paired=True)
      (0.3333333333333333, 0.5)
    """
    ways = number_of_ways(first, second, paired=paired)
    # Exchanging all labels turns the difference round, which leaves its size.
    alike = 2 if paired or first == second else 1
    return min(1.0, alike / ways) if ways <= MOST_WAYS else 1 / (MOST_WAYS + 1)


def number_of_ways(first: int, second: int, *, paired: bool) -> int:
    """How many ways there are to exchange labels."""
    return 2**first if paired else comb(first + second, first)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number, by Holm's method (1979).

    Example:
      >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
      [0.03, 0.06, 0.06]
    """
    corrected, largest = [0.0] * len(p_values), 0.0
    for done, place in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - done) * p_values[place]))
        corrected[place] = largest
    return corrected


def _flipped(differences: np.ndarray, ways: int) -> np.ndarray:
    """Mean difference of pairs, for each way to turn some of them round."""
    n = len(differences)
    if ways <= MOST_WAYS:
        signs = np.array(list(product((1.0, -1.0), repeat=n)))
    else:
        signs = np.random.default_rng(0).choice((1.0, -1.0), size=(MOST_WAYS, n))
    return signs @ differences / n


def _dealt(a: np.ndarray, b: np.ndarray, ways: int) -> np.ndarray:
    """Difference of means, for each way to deal the values out."""
    both, n = np.concatenate([a, b]), len(a)
    if ways <= MOST_WAYS:
        chosen = np.array(list(combinations(range(len(both)), n)))
    else:
        order = np.random.default_rng(0).permuted(
            np.tile(np.arange(len(both)), (MOST_WAYS, 1)), axis=1
        )
        chosen = order[:, :n]
    sums = both[chosen].sum(axis=1)
    return (both.sum() - sums) / len(b) - sums / n


def _checked(
    first: Sequence[float], second: Sequence[float], paired: bool
) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if a.ndim != 1 or b.ndim != 1 or not len(a) or not len(b):
        raise UserError(
            f"Values of two methods must be lists of at least one number, got shapes {a.shape} "
            f"and {b.shape}."
        )
    if paired and len(a) != len(b):
        raise UserError(f"Values must come in pairs to be paired, got {len(a)} and {len(b)}.")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise UserError("Values of two methods must be finite numbers.")
    return a, b
