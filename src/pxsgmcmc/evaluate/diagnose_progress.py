"""How far a diagnosis is, and rows that stand for all rows."""

from collections.abc import Callable

import numpy as np

from pxsgmcmc.progress import Progress

Tell = Callable[[str, int, int], None]  # (which part, how many done, of how many)

# The parts that take long, in order, each with its share of the work as it usually is.
SHARES = {
    "singular values": 0.1,
    "lines between draws": 0.15,
    "plane through three draws": 0.35,
    "predictions": 0.1,
    "gradient on all rows": 0.3,
}


def teller(progress: Progress) -> Tell:
    """From the parts of a diagnosis to one bar."""

    def tell(part: str, done: int, of: int) -> None:
        names = list(SHARES)
        before = sum(SHARES[name] for name in names[: names.index(part)])
        progress.tell(before + SHARES[part] * done / of, part)

    return tell


def evenly(count: int, most: int) -> np.ndarray:
    """At most so many of `count` places, evenly spaced, first and last among them.

    Example:
      >>> evenly(9, 3).tolist(), evenly(2, 3).tolist()
      ([0, 4, 8], [0, 1])
    """
    return np.linspace(0, count - 1, min(count, most)).round().astype(int)
