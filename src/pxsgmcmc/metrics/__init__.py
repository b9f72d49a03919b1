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
from pxsgmcmc.metrics.curves import BurnInCurve, measure_by_burn_in, measure_by_draws
from pxsgmcmc.metrics.logspace import log_softmax, logsumexp, most_probable
from pxsgmcmc.metrics.ood import Roc, auroc, average_precision, detection, roc, tnr_at_tpr
from pxsgmcmc.metrics.uncertainty import Uncertainty, log_mean_probabilities, uncertainty

__all__ = [
    "METRICS",
    "BurnInCurve",
    "Metric",
    "Reliability",
    "RiskCoverage",
    "Roc",
    "Uncertainty",
    "agreement",
    "auroc",
    "average_precision",
    "detection",
    "log_mean_probabilities",
    "log_softmax",
    "logsumexp",
    "measure",
    "measure_by_burn_in",
    "measure_by_draws",
    "metric",
    "most_probable",
    "reliability",
    "risk_coverage",
    "roc",
    "tnr_at_tpr",
    "total_variation",
    "uncertainty",
]
