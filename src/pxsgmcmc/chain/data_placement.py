"""Where the data of a chain lie while it runs: on the device, or on the host."""

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.errors import UserError
from pxsgmcmc.types import Batch

MOST_BYTES = 4 << 30  # of data copied to a device that does not say how much it holds


def data_size(data: Batch) -> int:
    """How many rows all arrays of a pytree have; 1 without data, so that there is a batch."""
    if data is None:
        return 1
    leaves = jax.tree.leaves(data)
    sizes = {int(leaf.shape[0]) if getattr(leaf, "ndim", 0) else -1 for leaf in leaves}
    if len(sizes) != 1 or -1 in sizes:
        raise UserError(
            "`data` must hold arrays with the same number of rows, got shapes "
            f"{', '.join(str(getattr(leaf, 'shape', leaf)) for leaf in leaves) or 'none'}."
        )
    return sizes.pop()


def place_data(data: Batch, keep_data: str) -> tuple[Batch, bool]:
    """The data where the steps will read them, and whether that is the host."""
    total = sum(getattr(leaf, "nbytes", 0) for leaf in jax.tree.leaves(data))
    if keep_data == "host" or (keep_data == "auto" and total > _room_on_device()):
        return jax.tree.map(np.asanyarray, data), True
    return jax.tree.map(jnp.asarray, data), False


def _room_on_device() -> int:
    """Half of what the device holds; the rest is for the network's activations."""
    stats = jax.local_devices()[0].memory_stats() or {}
    return stats["bytes_limit"] // 2 if "bytes_limit" in stats else MOST_BYTES
