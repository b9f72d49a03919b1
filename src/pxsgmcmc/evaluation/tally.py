"""Metrics of rows that come in parts: the sums of the parts add up to those of the whole."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pxsgmcmc.metrics import METRICS
from pxsgmcmc.metrics.checks import check_labels, check_logits, row_blocks
from pxsgmcmc.metrics.ensemble import Ensemble
from pxsgmcmc.metrics.windows import whole


@dataclass(frozen=True)
class Tally:
    """What every metric of an ensemble has summed up over some rows.

    Attributes:
      rows: how many.
      sums: metric -> its sums, see `pxsgmcmc.metrics.Metric`.
    """

    rows: int
    sums: dict[str, np.ndarray]

    def metrics(self) -> dict[str, float]:
        """Every metric of these rows."""
        return {name: float(METRICS[name].finish(s, self.rows)[0]) for name, s in self.sums.items()}


def tally(logits: np.ndarray, labels: np.ndarray) -> Tally:
    """Sum up the rows of one set.

    Args:
      logits: (draws, data, classes), perhaps mapped from a file.
      labels: (data,).

    Example:
      >>> logits = np.array([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 3.0]]])
      >>> round(tally(logits, np.array([0, 1])).metrics()["nll"], 4)
      0.3629
    """
    logits = check_logits(logits)
    labels = check_labels(labels, logits)
    windows = whole(len(logits))
    parts = []
    for rows, block in row_blocks(logits):
        ensemble = Ensemble(block, labels[rows], windows)
        parts.append(Tally(len(labels[rows]), {n: m.sums(ensemble) for n, m in METRICS.items()}))
    return pool(parts)


def pool(parts: Iterable[Tally]) -> Tally:
    """The rows of several tallies together, each row counting the same.

    Example:
      >>> rows = [np.array([[[2.0, 0.0]]]), np.array([[[0.0, 3.0]]])]
      >>> pool(tally(logits, np.array([0])) for logits in rows).metrics()["err"]
      0.5
    """
    total: Tally | None = None
    for part in parts:
        if total is None:
            total = part
        else:
            sums = {name: total.sums[name] + part.sums[name] for name in total.sums}
            total = Tally(total.rows + part.rows, sums)
    assert total is not None
    return total
