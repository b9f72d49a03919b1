"""Which rows each step sees: one endless stream of permutations, cut into batches.

Epoch e is a permutation of all rows, drawn from (key, e); the stream is epoch 0, epoch 1, ... and
step t takes its places t B to (t + 1) B. Nothing has to be saved: a step's rows depend on its
number alone, and the end of a cycle does not touch the stream.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.types import Array, Key

SHUFFLED_TOGETHER = 1 << 17  # rows


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
        # Epochs of small data are shuffled many at a time: a call costs as much as the work.
        self._together = max(1, min(64, SHUFFLED_TOGETHER // data_size))
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

    def prepare(self, first: int, count: int) -> None:
        """Shuffle what `rows(first, count)` will need, for when there is time to spare."""
        if self.batch_size < self.data_size:
            places = (first * self.batch_size, (first + count) * self.batch_size - 1)
            first_epoch, last_epoch = (place // self.data_size for place in places)
            for epoch in range(first_epoch, last_epoch + 1):
                self._epoch(epoch)

    def _epoch(self, epoch: int) -> np.ndarray:
        block, place = divmod(epoch, self._together)
        if block not in self._orders:
            epochs = np.arange(block * self._together, (block + 1) * self._together)
            bits = np.asarray(_random_bits(self._key, epochs, self.data_size))
            self._orders[block] = np.stack([_sorted_by(rounds) for rounds in bits])
        return self._orders[block][place]

    def _forget(self, before: int) -> None:
        first = before // self._together
        self._orders = {block: order for block, order in self._orders.items() if block >= first}


@partial(jax.jit, static_argnums=2)
def _random_bits(key: Key, epochs: Array, size: int) -> Array:
    """For each epoch, (rounds, size) uint32 to sort by; two rounds where one would have ties."""
    rounds = math.ceil(3 * math.log(size) / math.log(2**32 - 1)) if size > 1 else 1

    def bits(epoch: Array) -> Array:
        left, drawn = jax.random.fold_in(key, epoch), []
        for _ in range(rounds):
            left, now = jax.random.split(left)
            drawn.append(jax.random.bits(now, (size,)))
        return jnp.stack(drawn)

    return jax.vmap(bits)(epochs)


def _sorted_by(rounds: np.ndarray) -> np.ndarray:
    """The order that `jax.random.permutation` finds; NumPy sorts many times as fast as XLA.

    Each place rides below the bits it is sorted by, so that equal bits keep their order.
    """
    places = np.arange(rounds.shape[1], dtype=np.uint64)
    order = places.astype(np.int32)
    for bits in rounds:
        in_order = np.sort((bits.astype(np.uint64) << np.uint64(32)) | places)
        order = order[(in_order & np.uint64(0xFFFFFFFF)).astype(np.int32)]
    return order
