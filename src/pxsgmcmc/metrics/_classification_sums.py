"""Metrics of rows that come in parts: the sums of the parts add up to those of the whole."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass

import numpy as np

from pxsgmcmc.metrics._checks import check_labels, check_logits, row_blocks
from pxsgmcmc.metrics._ensemble import Ensemble
from pxsgmcmc.metrics._windows import whole
from pxsgmcmc.metrics.classification import METRICS


@dataclass(frozen=True)
class ClassificationSums:
    """What every metric of an ensemble has summed up over some rows.

    Attributes:
      rows: how many.
      sums: metric -> its sums, see `pxsgmcmc.metrics.Metric`.
    """

    rows: int
    sums: dict[str, np.ndarray]

    def __add__(self, other: ClassificationSums) -> ClassificationSums:
        """The rows of both together, each counting the same."""
        sums = {name: self.sums[name] + other.sums[name] for name in self.sums}
        return ClassificationSums(self.rows + other.rows, sums)

    def metrics(self) -> dict[str, float]:
        """Every metric of these rows."""
        return {name: float(METRICS[name].finish(s, self.rows)[0]) for name, s in self.sums.items()}


def classification_sums(logits: np.ndarray, labels: np.ndarray) -> ClassificationSums:
    """Sum up the rows of one set.

    Args:
      logits: (draws, data, classes), perhaps mapped from a file.
      labels: (data,).

    Example:
      >>> logits = np.array([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 3.0]]])
      >>> round(classification_sums(logits, np.array([0, 1])).metrics()["nll"], 4)
      0.3629
    """
    logits = check_logits(logits)
    labels = check_labels(labels, logits)
    windows = whole(len(logits))
    parts = []
    for rows, block in row_blocks(logits):
        ensemble = Ensemble(block, labels[rows], windows)
        sums = {name: metric.sums(ensemble) for name, metric in METRICS.items()}
        parts.append(ClassificationSums(len(labels[rows]), sums))
    return functools.reduce(operator.add, parts)
