"""How far a chain moves from draw to draw.

    d_m = |q_{m+1} - q_m|,      d_bar_m = d_m / |q_m|.

Independent draws of equal norm have d_bar = sqrt(2).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pxsgmcmc.diagnostics._flat import Tree, flatten
from pxsgmcmc.errors import UserError

if TYPE_CHECKING:
    from jaxtyping import Float


class Distances(NamedTuple):
    """Distances between consecutive draws."""

    d: Float[np.ndarray, " pairs"]
    d_bar: Float[np.ndarray, " pairs"]  # inf after a draw of zeros


def distances(draws: Iterable[Tree]) -> Distances:
    """Distances d and d_bar between consecutive draws.

    Args:
      draws: parameter trees in the order they were drawn, or an array (draws, parameters). They are
        read one by one and two are held at a time, so this may be a generator.

    Example:
      >>> distances(np.array([[3.0, 4.0], [0.0, 8.0], [6.0, 8.0]]))
      Distances(d=array([5., 6.]), d_bar=array([1.  , 0.75]))
    """
    pairs = [
        (np.linalg.norm(after - before), np.linalg.norm(before))
        for before, after in pairwise(_vectors(draws))
    ]
    if not pairs:
        raise UserError("`draws` must hold at least 2 draws to have a distance between them.")
    d, norm = np.array(pairs).T
    d_bar = np.divide(d, norm, out=np.full_like(d, np.inf), where=norm > 0.0)
    return Distances(d, d_bar)


def _vectors(draws: Iterable[Tree]) -> Iterable[np.ndarray]:
    first = None
    for index, draw in enumerate(draws):
        first = draw if first is None else first
        yield flatten(draw, f"draws[{index}]", like=first)
