"""A series of numbers as a line of little bars."""

import math
from collections.abc import Sequence
from itertools import pairwise

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None], width: int = 40) -> str:
    """Means over equal stretches of the series, from the lowest bar to the highest.

    Example:
      >>> sparkline([1, 2, 3, 4, 8]), sparkline([1.0, 1.0]), sparkline([])
      ('▁▂▃▄█', '▄▄', '')
    """
    known = [value for value in values if value is not None and math.isfinite(value)]
    count = min(width, len(known))
    if not count:
        return ""
    edges = [place * len(known) // count for place in range(count + 1)]
    means = [sum(known[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, high = min(means), max(means)
    if high <= low or not math.isfinite(high - low):
        return _BARS[3] * count
    return "".join(_BARS[round(7 * ((mean - low) / (high - low)))] for mean in means)
