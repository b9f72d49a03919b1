"""The units of targets: the network works on a standardised scale, people do not."""

from typing import Any, TypeAlias

import numpy as np

from pxsgmcmc.errors import UserError

Units: TypeAlias = tuple[Any, Any]  # mean and standard deviation, a number or one for each target


def check_units(units: Units | None) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Units as tuples of numbers.

    Example:
      >>> check_units((10.0, 2.0))
      ((10.0,), (2.0,))
    """
    if units is None:
        return None
    try:
        mean, std = (np.atleast_1d(np.asarray(part, np.float64)) for part in units)
    except (TypeError, ValueError):
        mean = std = np.zeros(0)
    fits = mean.ndim == std.ndim == 1 and len(mean) == len(std) > 0
    if not fits or not np.isfinite(mean).all() or not np.isfinite(std).all() or (std <= 0).any():
        raise UserError(
            "`units` must be a mean and a positive standard deviation for each target, got "
            f"{units!r}."
        )
    return tuple(mean.tolist()), tuple(std.tolist())
