"""Several processes that run one chain together: what they agree on and what the first one shares.

Each has the whole state on its devices and takes the same steps. Which steps come next must not
depend on one process's clock or signals, so wishes travel with the chunks: a vector a process, of
which all get the largest entries, without a wait of their own.
"""

import functools
import zlib
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from pxsgmcmc.devices import AXIS
from pxsgmcmc.errors import UserError


class Wishes(NamedTuple):
    """What a process would do next, or what all will.

    Attributes:
      signal: that asked to stop; 0 for none.
      steps: of the next chunk; 0 leaves it to others.
      save: whether to save the state then.
      seen: a number that differs where states differ, which must not happen.
    """

    signal: int = 0
    steps: int = 0
    save: int = 0
    seen: int = 0

    @staticmethod
    def of(agreed: np.ndarray) -> "Wishes":
        """From what `Together.agree` gives, on the host.

        Raises:
          UserError: if processes have seen different numbers.
        """
        signal, steps, save, seen, opposite = map(int, agreed)
        if seen != -opposite:
            raise UserError(
                "The processes no longer hold the same state: `processes` must run on processors "
                "and versions of one kind; go on from the last saved state."
            )
        return Wishes(signal, steps, save, seen)


def fingerprint_of(*numbers: Any) -> int:
    """A positive number of 31 bits that depends on every bit of some trees of arrays."""
    total = 0
    for leaf in jax.tree.leaves(numbers):
        total = zlib.crc32(np.asarray(leaf).tobytes(), total)
    return total >> 1


def is_first() -> bool:
    """Whether this process is the one that writes, and whose clock counts."""
    return jax.process_index() == 0


def share(value: Any) -> Any:
    """What the first process calls it with, on all of them: anything that JSON can hold."""
    return msgspec.msgpack.decode(share_bytes(msgspec.msgpack.encode(value)))


def share_bytes(content: bytes) -> bytes:
    """The bytes that the first process calls it with; all processes must call it."""
    if jax.process_count() == 1:
        return content
    sizes = multihost_utils.broadcast_one_to_all(np.array([len(content)], np.int32))
    padded = np.zeros(int(sizes[0]), np.uint8)
    if is_first():
        padded[:] = np.frombuffer(content, np.uint8)
    return np.asarray(multihost_utils.broadcast_one_to_all(padded)).astype(np.uint8).tobytes()


class Together(NamedTuple):
    """The processes of one mesh.

    Attributes:
      mesh: their devices.
    """

    mesh: Mesh

    def agree(self, wishes: Wishes) -> jax.Array:
        """The largest of what all processes wish, on all of them; every process must call it."""
        mine = wishes if is_first() else wishes._replace(steps=0, save=0)
        row = np.array([[*mine, -mine.seen]], np.int32)
        split = NamedSharding(self.mesh, PartitionSpec(AXIS))
        shape = (self.mesh.size, row.shape[1])
        return _largest(self.mesh)(jax.make_array_from_callback(shape, split, lambda _: row))


@functools.cache
def _largest(mesh: Mesh) -> Any:
    whole = NamedSharding(mesh, PartitionSpec())
    return jax.jit(lambda rows: jnp.max(rows, 0), out_shardings=whole)
