"""Training rows as programs take them: distinct, weighted, on one scale, filled up to a round size.

A posterior depends on rows through their weights alone: a row of weight 2 counts as the same row
twice, one of weight 0 not at all. So equal rows are merged and all are put into an order of their
own, and whatever order or repetition they came in, the draws are the same bit for bit.
"""

from typing import NamedTuple

import numpy as np

from pxsgmcmc.data.standardise import Standardisation

SMALLEST = 128  # rows; programs for fewer would gain nothing


class WeightedRows(NamedTuple):
    """Distinct rows in an order that depends on them alone."""

    x: np.ndarray  # (rows, features) float64
    y: np.ndarray  # (rows, targets) float64, or (rows, 1) labels
    weights: np.ndarray  # (rows,) float64, positive


def distinct(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> WeightedRows:
    """Rows of positive weight, equal ones merged.

    Example:
      >>> rows = distinct(np.array([[1.0], [2.0], [1.0]]), np.zeros((3, 1)), np.array([1.0, 0, 2]))
      >>> rows.x.tolist(), rows.weights.tolist()
      ([[1.0]], [3.0])
    """
    kept = weights > 0.0
    table = np.concatenate([x[kept], y[kept]], axis=1, dtype=np.float64) + 0.0  # -0 is 0
    weights = weights[kept].astype(np.float64)
    order = np.argsort(codes := _codes(table), kind="stable")
    table, codes = table[order], codes[order]
    same = (codes[1:] == codes[:-1]) & (table[1:] == table[:-1]).all(axis=1)
    first = np.flatnonzero(np.concatenate([[True], ~same]))
    table, columns = table[first], x.shape[1]
    return WeightedRows(
        table[:, :columns], table[:, columns:], np.add.reduceat(weights[order], first)
    )


def _codes(table: np.ndarray) -> np.ndarray:
    """A number for each row that scatters: sorting by it shuffles the rows, equal ones together."""
    bits = np.ascontiguousarray(table).view(np.uint64)
    bits = bits ^ (bits >> np.uint64(29))
    odd = np.random.default_rng(0).integers(2**63, size=bits.shape[1], dtype=np.uint64)
    codes = (bits * (2 * odd + np.uint64(1))).sum(axis=1, dtype=np.uint64)
    return (codes ^ (codes >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)


def standardisation(values: np.ndarray, weights: np.ndarray) -> Standardisation:
    """Weighted mean and standard deviation of each column; 1 for a column that is constant.

    Example:
      >>> standardisation(np.array([[1.0], [4.0]]), np.array([2.0, 1.0])).mean
      (2.0,)
    """
    share = weights / weights.sum()
    mean = share @ values
    std = np.sqrt(share @ (values - mean) ** 2)
    constant = (values.min(axis=0) == values.max(axis=0)) | (std <= 1e-12 * np.abs(mean))
    return Standardisation(tuple(mean.tolist()), tuple(np.where(constant, 1.0, std).tolist()))


def round_size(rows: int) -> int:
    """The next power of two, so that data of about one size share a program.

    Example:
      >>> round_size(5), round_size(500), round_size(512)
      (128, 512, 512)
    """
    return max(SMALLEST, 1 << (rows - 1).bit_length())


def filled(array: np.ndarray, size: int) -> np.ndarray:
    """With zeros at its end, up to so many rows."""
    missing = np.zeros((size - len(array), *array.shape[1:]), array.dtype)
    return np.concatenate([array, missing])
