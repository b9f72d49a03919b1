"""Metrics of rows that come in parts: the sums of the parts add up to those of the whole."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pxsgmcmc.metrics._checks import check_labels, check_logits, row_blocks
from pxsgmcmc.metrics._ensemble import Ensemble
from pxsgmcmc.metrics._regression_ensemble import RegressionEnsemble
from pxsgmcmc.metrics._windows import whole
from pxsgmcmc.metrics.classification import METRICS, Metric
from pxsgmcmc.metrics.predictive_mixture import PredictiveMixture
from pxsgmcmc.metrics.regression import REGRESSION_METRICS, RegressionMetric


@dataclass(frozen=True)
class MetricSums:
    """What every metric has summed up over some rows.

    Attributes:
      rows: how many.
      sums: metric -> its sums, see `pxsgmcmc.metrics.Metric`.
      table: metric -> how its sums become a number.
    """

    rows: int
    sums: dict[str, np.ndarray]
    table: Mapping[str, Metric | RegressionMetric]

    def __add__(self, other: MetricSums) -> MetricSums:
        """The rows of both together, each counting the same."""
        sums = {name: self.sums[name] + other.sums[name] for name in self.sums}
        return MetricSums(self.rows + other.rows, sums, self.table)

    def metrics(self) -> dict[str, float]:
        """Every metric of these rows."""
        finished = {name: self.table[name].finish(s, self.rows) for name, s in self.sums.items()}
        return {name: float(values[0]) for name, values in finished.items()}


def classification_sums(logits: np.ndarray, labels: np.ndarray) -> MetricSums:
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
    ensembles = (
        (len(labels[rows]), Ensemble(block, labels[rows], windows))
        for rows, block in row_blocks(logits)
    )
    return _added(ensembles, METRICS)


def regression_sums(mixture: PredictiveMixture, y: np.ndarray) -> MetricSums:
    """Sum up the rows of one set.

    Args:
      mixture: what the draws predict.
      y: (rows, targets).

    Example:
      >>> from pxsgmcmc.metrics import NormalMixture
      >>> mixture = NormalMixture([[[1.0], [2.0]]], scale=1.0)
      >>> regression_sums(mixture, np.array([[0.0], [4.0]])).metrics()["mae"]
      1.5
    """
    y, windows = mixture.observed(y), whole(mixture.shape[0])
    ensembles = (
        (len(y[rows]), RegressionEnsemble(block, y[rows], windows))
        for rows, block in mixture.blocks()
    )
    return _added(ensembles, REGRESSION_METRICS)


def _added(ensembles: Iterable[tuple[int, Any]], table: Mapping[str, Any]) -> MetricSums:
    """The sums of blocks, each given with its number of rows; one is in memory at a time."""
    parts = (
        MetricSums(rows, {name: metric.sums(block) for name, metric in table.items()}, table)
        for rows, block in ensembles
    )
    return functools.reduce(operator.add, parts)
