"""Which row goes into which split: decided by hashing row numbers, not by a random generator.

So no version of any library can change it.
"""

import hashlib
from collections.abc import Sequence

import numpy as np


def fixed_order(name: str, count: int) -> np.ndarray:
    """Row numbers 0 .. count - 1 sorted by the hash of name and number.

    Example:
      >>> fixed_order("digits", 5).tolist()
      [4, 3, 1, 2, 0]
    """
    digests = [hashlib.sha256(f"{name} {row}".encode()).digest() for row in range(count)]
    return np.array(sorted(range(count), key=digests.__getitem__), np.int64)


def split_rows(
    name: str, count: int, sizes: Sequence[int], labels: np.ndarray | None = None
) -> list[np.ndarray]:
    """Row numbers of the parts of the given sizes, which add up to `count`.

    Args:
      name: other names give other splits.
      count: how many rows there are.
      sizes: rows of each part.
      labels: (count,) of each row; given, each part has every class in proportion to within a row.

    Example:
      >>> [len(part) for part in split_rows("digits", 10, (7, 3))]
      [7, 3]
    """
    order = fixed_order(name, count)
    if labels is None:
        return np.split(order, np.cumsum(sizes)[:-1])
    place = np.empty(count)  # where a row stands within its class, from 0 to 1
    for label in np.unique(labels):
        members = order[labels[order] == label]
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    dealt = order[np.argsort(place[order], kind="stable")]
    parts = np.split(dealt, np.cumsum(sizes)[:-1])
    return [order[np.isin(order, part)] for part in parts]  # classes mixed again
