"""The quantities that metrics of an ensemble are made of, for one block of rows.

Letters: z logits, p = softmax(z), a bar is the mean over the draws of a window, y the label.
"""

from functools import cached_property

import numpy as np

from pxsgmcmc.metrics._windows import Windows
from pxsgmcmc.metrics.logspace import log_softmax


def entropy_of(log_p: np.ndarray) -> np.ndarray:
    """Entropy in nats of log-probabilities on the last axis, (..., classes) -> (...)."""
    return -(np.exp(log_p) * log_p).sum(axis=-1)


class Ensemble:
    """Draws' logits on some rows of data, seen through windows over the draws.

    Each property is computed when first asked for, and has axes (windows, rows) or
    (windows, rows, classes).
    """

    def __init__(self, logits: np.ndarray, labels: np.ndarray | None, windows: Windows):
        """Keep logits (draws, rows, classes) float64, labels (rows,) where there are any."""
        self.logits = logits
        self.labels = labels
        self.windows = windows

    def of_label(self, values: np.ndarray) -> np.ndarray:
        """Pick each row's label, (..., rows, classes) -> (..., rows)."""
        assert self.labels is not None
        return values[..., np.arange(len(self.labels)), self.labels]

    @cached_property
    def log_p(self) -> np.ndarray:
        """Log p of each draw, (draws, rows, classes)."""
        return log_softmax(self.logits)

    @cached_property
    def p(self) -> np.ndarray:
        """P of each draw, (draws, rows, classes)."""
        return np.exp(self.log_p)

    @cached_property
    def log_p_bar(self) -> np.ndarray:
        """Log of the mean p: the Bayesian model average."""
        return self.windows.log_mean_exp(self.log_p)

    @cached_property
    def p_bar(self) -> np.ndarray:
        """Mean p."""
        return np.exp(self.log_p_bar)

    @cached_property
    def log_p_of_mean_logits(self) -> np.ndarray:
        """Log softmax of the mean z: the ensemble that averages logits."""
        return log_softmax(self.windows.mean(self.logits))

    @cached_property
    def variance(self) -> np.ndarray:
        """Population variance of p over the draws, class by class."""
        # Not below zero, where a small difference of two squares can round to.
        return np.maximum(self.windows.mean(self.p**2) - self.windows.mean(self.p) ** 2, 0.0)

    @cached_property
    def entropy(self) -> np.ndarray:
        """Entropy of the mean p: the total uncertainty."""
        return entropy_of(self.log_p_bar)

    @cached_property
    def aleatoric(self) -> np.ndarray:
        """Mean entropy of p: the uncertainty that every draw has."""
        return self.windows.mean(entropy_of(self.log_p))

    @cached_property
    def epistemic(self) -> np.ndarray:
        """Mutual information of label and draw: the uncertainty that comes of disagreement."""
        return np.maximum(self.entropy - self.aleatoric, 0.0)
