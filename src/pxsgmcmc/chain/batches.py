"""Which rows each step sees: one endless stream of permutations, cut into batches.

Epoch e is a permutation of all rows, drawn from (key, e); the stream is epoch 0, epoch 1, ... and
step t takes its places t B to (t + 1) B. Nothing has to be saved: a step's rows depend on its
number alone, and the end of a cycle does not touch the stream.
"""

import jax
import numpy as np

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.types import Key


class Batches:
    """The stream of one chain.

    Args:
      key: of the stream.
      data_size: rows in the data.
      batch_size: rows a step sees.

    Example:
      >>> stream = Batches(jax.random.key(0), data_size=6, batch_size=2)
      >>> sorted(stream.rows(0, 3).ravel().tolist())  # an epoch: every row once
      [0, 1, 2, 3, 4, 5]
    """

    def __init__(self, key: Key, *, data_size: int, batch_size: int):
        check_count("data_size", data_size, at_least=1)
        check_count("batch_size", batch_size, at_least=1)
        if batch_size > data_size:
            raise UserError(
                f"`batch_size` must be at most the number of data, got {batch_size} for "
                f"{data_size} data."
            )
        self.data_size, self.batch_size = data_size, batch_size
        self._key = key
        self._epochs: dict[int, np.ndarray] = {}

    def rows(self, first: int, count: int) -> np.ndarray:
        """Rows of the steps `first` to `first + count`: (count, batch_size) int32."""
        if self.batch_size == self.data_size:  # all the data, in their own order
            whole = np.arange(self.data_size, dtype=np.int32)
            return np.tile(whole, (count, 1))
        places = np.arange(first * self.batch_size, (first + count) * self.batch_size)
        epochs, offsets = places // self.data_size, places % self.data_size
        rows = np.empty(len(places), np.int32)
        for epoch in range(epochs[0], epochs[-1] + 1) if count else ():
            chosen = epochs == epoch
            rows[chosen] = self._epoch(epoch)[offsets[chosen]]
        return rows.reshape(count, self.batch_size)

    def _epoch(self, epoch: int) -> np.ndarray:
        if epoch not in self._epochs:
            while len(self._epochs) > 3:  # a chunk rarely spans more
                del self._epochs[min(self._epochs)]
            key = jax.random.fold_in(self._key, epoch)
            order = jax.random.permutation(key, self.data_size)
            self._epochs[epoch] = np.asarray(order, np.int32)
        return self._epochs[epoch]
