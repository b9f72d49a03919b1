"""Which rows each step sees: one endless stream of permutations, cut into batches.

Epoch e is a permutation of all rows, drawn from (key, e); the stream is epoch 0, epoch 1, ... and
step t takes its places t B to (t + 1) B. Nothing has to be saved: a step's rows depend on its
number alone, and the end of a cycle does not touch the stream. Rows are shuffled on the host: a
device works in order, so it would come to them only after the steps it was given before.
"""

import jax
import numpy as np

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.types import Key

SHUFFLED_TOGETHER = 1 << 16  # rows


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
        words = np.asarray(jax.random.key_data(key)).astype("<u4")
        self._key = int.from_bytes(words.tobytes(), "little")
        # Epochs of small data are shuffled many at a time: a call costs as much as the work.
        self._together = max(1, SHUFFLED_TOGETHER // data_size)
        self._orders: dict[int, np.ndarray] = {}  # of the epochs shuffled together, by block

    def rows(self, first: int, count: int) -> np.ndarray:
        """Rows of the steps `first` to `first + count`: (count, batch_size) int32."""
        if self.batch_size == self.data_size:  # all the data, in their own order
            whole = np.arange(self.data_size, dtype=np.int32)
            return np.tile(whole, (count, 1))
        rows = np.empty(count * self.batch_size, np.int32)
        place, filled = first * self.batch_size, 0
        self._forget(before=place // self.data_size)
        while filled < len(rows):
            epoch, offset = divmod(place + filled, self.data_size)
            piece = self._epoch(epoch)[offset : offset + len(rows) - filled]
            rows[filled : filled + len(piece)] = piece
            filled += len(piece)
        return rows.reshape(count, self.batch_size)

    def shuffle_ahead(self, first: int, count: int) -> None:
        """Shuffle what `rows(first, count)` will need, for when there is time to spare."""
        if self.batch_size < self.data_size:
            places = (first * self.batch_size, (first + count) * self.batch_size - 1)
            first_epoch, last_epoch = (place // self.data_size for place in places)
            for epoch in range(first_epoch, last_epoch + 1):
                self._epoch(epoch)

    def _epoch(self, epoch: int) -> np.ndarray:
        block, place = divmod(epoch, self._together)
        if block not in self._orders:
            self._orders[block] = _shuffled(
                self._key, block * self._together, self._together, self.data_size
            )
        return self._orders[block][place]

    def _forget(self, before: int) -> None:
        first = before // self._together
        self._orders = {block: order for block, order in self._orders.items() if block >= first}


def _shuffled(key: int, first: int, count: int, size: int) -> np.ndarray:
    """The epochs `first` to `first + count`: (count, size) int32.

    Rows are sorted by random numbers: 64 bits each, of which the lowest make room for the row.
    Which numbers an epoch takes does not depend on the epochs it is shuffled together with.
    """
    draws = -(-size // 4)  # Philox gives four numbers a draw
    generator = np.random.Philox(key=key)
    generator.advance(first * draws)
    numbers = generator.random_raw(count * draws * 4).reshape(count, draws * 4)[:, :size]
    room = np.uint64((1 << size.bit_length()) - 1)
    numbers = (numbers & ~room) | np.arange(size, dtype=np.uint64)
    numbers.sort(axis=1)
    return (numbers & room).astype(np.int32)
