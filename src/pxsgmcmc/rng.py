"""One seed, named streams of randomness; what step t draws depends on (seed, chain, t) alone."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from pxsgmcmc.types import Array, Key


class Streams(NamedTuple):
    """The root key of each purpose. Append only: existing streams keep their keys."""

    init: Key
    batches: Key
    noise: Key
    augment: Key


def streams(seed: int, chain: int = 0) -> Streams:
    """The streams of one chain.

    Example:
      >>> keys = streams(seed=0, chain=1)
      >>> noise_of_step_7 = jax.random.fold_in(keys.noise, 7)
    """
    return _split(jax.random.key(seed), jnp.asarray(chain, jnp.uint32))


@jax.jit  # one small program instead of many
def _split(key: Key, chain: Array) -> Streams:
    return Streams(*jax.random.split(jax.random.fold_in(key, chain), len(Streams._fields)))
