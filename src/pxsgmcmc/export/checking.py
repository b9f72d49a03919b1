"""An exported file is asked about some rows before it gets its name."""

from typing import Any

import numpy as np

from pxsgmcmc.errors import UserError
from pxsgmcmc.problem import Problem

_ROWS = 64
_LARGEST_DIFFERENCE = 1e-3


def rows_to_check(problem: Problem) -> np.ndarray:
    """A few inputs, held-out ones if there are any."""
    return (problem.test or problem.validation or problem.train).x[:_ROWS]


def checked_difference(
    predicted: dict[str, np.ndarray], expected: Any, levels: tuple[float, ...]
) -> float:
    """The largest difference between what a file and the library say, if it is rounding.

    Args:
      predicted: by name, what the file says.
      expected: what `predict` says.
      levels: of the quantiles.

    Returns:
      In probabilities; for entropies in shares of the largest there is, log(classes); for numbers
      in predicted standard deviations, or their squares.
    """
    worst = 0.0
    for name, values in predicted.items():
        exact, unit = _exact(name, expected, levels)
        with np.errstate(invalid="ignore"):  # moments that do not exist
            apart = np.abs(values - exact) / unit
        worst = max(worst, float(np.max(apart, initial=0.0, where=~np.isnan(apart))))
    if worst > _LARGEST_DIFFERENCE:
        raise UserError(
            f"The exported program differs from the run's predictions by {worst:.1e}, more than "
            "rounding does, and nothing was written: the network may do something else for batches "
            "of another size."
        )
    return worst


def _exact(name: str, expected: Any, levels: tuple[float, ...]) -> tuple[np.ndarray, Any]:
    """What the library says, and the unit in which a difference counts."""
    if hasattr(expected, "probabilities"):
        classes = expected.probabilities.shape[1]
        return getattr(expected, name), 1.0 if name == "probabilities" else np.log(classes)
    std = expected.std + np.finfo(np.float32).tiny
    if name == "quantiles":
        exact = expected.quantile(np.array(levels)).swapaxes(0, 1)
        low, high = expected.quantile(np.array([0.25, 0.75]))  # finite even where std is not
        # A count whose probability is the level up to rounding may come out one higher or lower.
        return exact, np.inf if expected.mixture.counting else (high - low)[:, None]
    return getattr(expected, name), std**2 if name in ("aleatoric", "epistemic") else std
