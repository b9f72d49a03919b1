"""Probabilities and their logarithms in float64 NumPy, without overflow or loss of small terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float, Integer


def logsumexp(values: Float[np.ndarray, "*rows terms"]) -> Float[np.ndarray, "*rows"]:
    """Log of the sum of exp(values) over the last axis.

    Example:
      >>> float(logsumexp(np.array([-1000.0, -1000.0])).round(6))
      -999.306853
    """
    values = np.asarray(values, np.float64)
    largest = values.max(axis=-1, keepdims=True)
    total = np.exp(values - largest).sum(axis=-1, keepdims=True)
    return np.squeeze(np.log(total) + largest, axis=-1)


def log_softmax(logits: Float[np.ndarray, "*rows classes"]) -> Float[np.ndarray, "*rows classes"]:
    """Log-probabilities of the classes on the last axis.

    Example:
      >>> np.exp(log_softmax(np.array([2.0, 0.0]))).round(5)
      array([0.8808, 0.1192])
    """
    logits = np.asarray(logits, np.float64)
    return logits - np.expand_dims(logsumexp(logits), -1)


def most_probable(p: Float[np.ndarray, "*rows classes"]) -> Integer[np.ndarray, "*rows"]:
    """Class of the largest probability or log-probability; the first of those that tie.

    Two draws that are each sure of another class tie, and rounding should not decide between them:
    what is within 1e-12 of the largest ties with it.

    Example:
      >>> most_probable(np.array([[0.2, 0.3, 0.5], [0.2, 0.4, 0.4 + 1e-16]]))
      array([2, 1])
    """
    p = np.asarray(p, np.float64)
    return (p >= p.max(axis=-1, keepdims=True) - 1e-12).argmax(axis=-1)
