"""Regression metrics of rows that come in parts: the sums of the parts add up to the whole's."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass

import numpy as np

from pxsgmcmc.metrics._regression_ensemble import RegressionEnsemble
from pxsgmcmc.metrics._windows import whole
from pxsgmcmc.metrics.predictive_mixture import PredictiveMixture
from pxsgmcmc.metrics.regression import REGRESSION_METRICS


@dataclass(frozen=True)
class RegressionSums:
    """What every metric of a mixture has summed up over some rows.

    Attributes:
      rows: how many.
      sums: metric -> its sums, see `pxsgmcmc.metrics.RegressionMetric`.
    """

    rows: int
    sums: dict[str, np.ndarray]

    def __add__(self, other: RegressionSums) -> RegressionSums:
        """The rows of both together, each counting the same."""
        sums = {name: self.sums[name] + other.sums[name] for name in self.sums}
        return RegressionSums(self.rows + other.rows, sums)

    def metrics(self) -> dict[str, float]:
        """Every metric of these rows."""
        return {
            name: float(REGRESSION_METRICS[name].finish(sums, self.rows)[0])
            for name, sums in self.sums.items()
        }


def regression_sums(mixture: PredictiveMixture, y: np.ndarray) -> RegressionSums:
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
    observed, windows = mixture.observed(y), whole(mixture.shape[0])
    parts = []
    for rows, block in mixture.blocks():
        ensemble = RegressionEnsemble(block, observed[rows], windows)
        sums = {name: metric.sums(ensemble) for name, metric in REGRESSION_METRICS.items()}
        parts.append(RegressionSums(len(observed[rows]), sums))
    return functools.reduce(operator.add, parts)
