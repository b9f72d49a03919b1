"""The rows that the steps of a chunk see, on the device."""

from functools import partial

import jax
import numpy as np

from pxsgmcmc.chain.layout import DeviceLayout
from pxsgmcmc.types import Array

FEWEST_ROWS = 16  # that are sent


class RowTable:
    """A table of one size, so that chunks of any length use one compiled program.

    What is sent to the device is as long as the chunk, up to a factor of four, and written over the
    beginning of the table, which stays there: tables of all lengths would be as many programs, and
    the longest one for a chunk of a few steps 16 MB to send.

    Args:
      shape: (most steps, batch), or (chains, most steps, batch).
      layout: the devices that hold it.
    """

    def __init__(self, shape: tuple[int, ...], layout: DeviceLayout):
        self._shape, self._layout = shape, layout
        self._table: Array | None = None

    def write(self, rows: np.ndarray) -> Array:
        """The table with these rows at its beginning; what follows them is not to be read.

        Args:
          rows: (steps, batch), or (chains, steps, batch).
        """
        *chains, steps, batch = rows.shape
        room = FEWEST_ROWS
        while room < steps:
            room *= 4
        room = min(room, self._shape[-2])
        sent = np.zeros((*chains, room, batch), np.int32)
        sent[..., :steps, :] = rows
        table = self._table
        if table is None:
            table = self._layout.place(np.zeros(self._shape, np.int32))
        self._table = table = _written(table, self._layout.place(sent))
        return table


@partial(jax.jit, donate_argnums=0)
def _written(table: Array, rows: Array) -> Array:
    return jax.lax.dynamic_update_slice(table, rows, (0,) * table.ndim)
