"""Numbers that say how good predictions are: arrays in, numbers and arrays out, no JAX.

>>> import numpy as np
>>> from pxsgmcmc.metrics import measure
>>> logits = np.array([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 3.0]]])  # draws, data, classes
>>> round(measure(logits, np.array([0, 1]))["ind"], 5)
0.45051
"""

from pxsgmcmc.metrics.agreement import agreement, total_variation
from pxsgmcmc.metrics.calibration import Reliability, RiskCoverage, reliability, risk_coverage
from pxsgmcmc.metrics.classification import METRICS, Metric, measure, metric
from pxsgmcmc.metrics.logspace import log_softmax, logsumexp, most_probable
from pxsgmcmc.metrics.mixtures import NormalMixture, PoissonMixture, StudentTMixture
from pxsgmcmc.metrics.ood import Roc, auroc, average_precision, detection, roc, tnr_at_tpr
from pxsgmcmc.metrics.predictive_mixture import PredictiveMixture
from pxsgmcmc.metrics.regression import (
    REGRESSION_METRICS,
    RegressionMetric,
    measure_regression,
    regression_metric,
)
from pxsgmcmc.metrics.regression_calibration import (
    CoverageCurve,
    SpreadBins,
    coverage_curve,
    error_against_spread,
    pit,
)
from pxsgmcmc.metrics.regression_figures import band_figures, regression_figures
from pxsgmcmc.metrics.uncertainty import Uncertainty, log_mean_probabilities, uncertainty


def title_of(name: str) -> str:
    """What tables call a metric, of whatever task.

    Example:
      >>> title_of("nll"), title_of("rmse")
      ('NLL', 'RMSE')
    """
    known = METRICS.get(name) or REGRESSION_METRICS.get(name)
    return known.title if known is not None else name.upper()


def lower_is_better(name: str) -> bool | None:
    """Whether less of it is better; None for what is neither good nor bad in itself.

    Example:
      >>> lower_is_better("rmse"), lower_is_better("amb")
      (True, None)
    """
    known = METRICS.get(name) or REGRESSION_METRICS.get(name)
    return known.lower_is_better if known is not None else None


__all__ = [
    "METRICS",
    "REGRESSION_METRICS",
    "CoverageCurve",
    "Metric",
    "NormalMixture",
    "PoissonMixture",
    "PredictiveMixture",
    "RegressionMetric",
    "Reliability",
    "RiskCoverage",
    "Roc",
    "SpreadBins",
    "StudentTMixture",
    "Uncertainty",
    "agreement",
    "auroc",
    "average_precision",
    "band_figures",
    "coverage_curve",
    "detection",
    "error_against_spread",
    "log_mean_probabilities",
    "log_softmax",
    "logsumexp",
    "lower_is_better",
    "measure",
    "measure_regression",
    "metric",
    "most_probable",
    "pit",
    "regression_figures",
    "regression_metric",
    "reliability",
    "risk_coverage",
    "roc",
    "title_of",
    "tnr_at_tpr",
    "total_variation",
    "uncertainty",
]
