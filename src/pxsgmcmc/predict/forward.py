"""A network on many inputs, batch by batch: one compiled program, whatever their number."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.types import Array, Tree


class Forward:
    """What a network says of inputs: rows of parameters of a distribution, checked to be finite.

    Args:
      function: (params, inputs) -> (batch, numbers), such as `problem.distribution`.
      batch_size: inputs at a time; fewer are filled up, so that one program serves all.

    Example:
      >>> forward = Forward(lambda w, x: x @ w)
      >>> forward(np.eye(2, dtype=np.float32), np.ones((3, 2), np.float32)).shape
      (3, 2)
    """

    def __init__(self, function: Callable[[Tree, Array], Array], batch_size: int = 250):
        self.batch_size = check_count("batch_size", batch_size, at_least=1)
        self._function = jax.jit(function)

    def __call__(self, params: Tree, x: Any) -> np.ndarray:
        """All rows, (rows, numbers)."""
        return np.concatenate([values for _, values in self.batches(params, x)])

    def batches(
        self, params: Tree, x: Any, number: int | None = None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Slices of rows with what the network says of them.

        Args:
          params: of one draw.
          x: inputs, (rows, ...); a memory-mapped array is read batch by batch.
          number: of the draw, from 0, for errors.
        """
        size = self.batch_size
        for start in range(0, len(x), size):
            batch = np.asarray(x[start : start + size])
            batch = batch.astype(batch.dtype.newbyteorder("="), copy=False)  # JAX has no other
            rows = slice(start, start + len(batch))
            missing = size - len(batch)
            if missing:
                batch = np.concatenate([batch, np.repeat(batch[-1:], missing, axis=0)])
            values = np.asarray(self._function(params, batch))[: size - missing]
            if values.ndim != 2:
                raise UserError(
                    f"`apply` must give one row of numbers per input, got {values.shape}."
                )
            if not np.isfinite(values).all():
                who = "A draw" if number is None else f"Draw {number + 1}"
                raise UserError(
                    f"{who} gives outputs that are not finite, for inputs {rows.start} to "
                    f"{rows.stop - 1}."
                )
            yield rows, values
