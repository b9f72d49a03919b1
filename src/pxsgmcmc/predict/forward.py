"""One draw's logits on many inputs, batch by batch."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pxsgmcmc.errors import UserError
from pxsgmcmc.types import Array, Tree


def logits_in_batches(
    forward: Callable[[Tree, Any], Array], params: Tree, x: Any, size: int, number: int
) -> Iterator[tuple[slice, np.ndarray]]:
    """Rows with their logits, (rows, classes), checked to be finite.

    Args:
      forward: (parameters, inputs) -> logits, compiled.
      params: of the draw.
      x: inputs, (data, ...).
      size: inputs at a time. The last batch is filled up, so that one compiled program serves all.
      number: of the draw, from 0, for errors.
    """
    for start in range(0, len(x), size):
        batch = np.asarray(x[start : start + size])
        rows = slice(start, start + len(batch))
        missing = size - len(batch)
        if missing:
            batch = np.concatenate([batch, np.repeat(batch[-1:], missing, axis=0)])
        values = np.asarray(forward(params, batch))[: size - missing]
        if values.ndim != 2:
            raise UserError(f"`apply` must give logits (batch, classes), got shape {values.shape}.")
        if not np.isfinite(values).all():
            raise UserError(
                f"Draw {number + 1} gives logits that are not finite, for inputs {rows.start} to "
                f"{rows.stop - 1}."
            )
        yield rows, values
