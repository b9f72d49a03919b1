"""How close predictions come to reference predictions, such as those of a long HMC run.

Both measures are those of Izmailov et al. (2021).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pxsgmcmc.errors import UserError
from pxsgmcmc.metrics._checks import check_probabilities
from pxsgmcmc.metrics.logspace import most_probable

if TYPE_CHECKING:
    from jaxtyping import Float


def _pair(p: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    p, reference = check_probabilities("p", p), check_probabilities("reference", reference)
    if p.shape != reference.shape:
        raise UserError(
            f"`p` and `reference` must have the same shape, got {p.shape} and {reference.shape}."
        )
    return p, reference


def agreement(
    p: Float[np.ndarray, "data classes"], reference: Float[np.ndarray, "data classes"]
) -> float:
    """Share of the data on which the most probable class is the same (the first one, on a tie).

    Example:
      >>> agreement(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([[0.6, 0.4], [0.7, 0.3]]))
      0.5
    """
    p, reference = _pair(p, reference)
    return float((most_probable(p) == most_probable(reference)).mean())


def total_variation(
    p: Float[np.ndarray, "data classes"], reference: Float[np.ndarray, "data classes"]
) -> float:
    """Mean over the data of sum_k |p_k - reference_k| / 2: 0 if equal, 1 if disjoint.

    Example:
      >>> round(total_variation(np.array([[0.9, 0.1]]), np.array([[0.6, 0.4]])), 6)
      0.3
    """
    p, reference = _pair(p, reference)
    return float(0.5 * np.abs(p - reference).sum(axis=1).mean())
