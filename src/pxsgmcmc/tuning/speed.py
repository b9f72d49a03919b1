"""How long a gradient takes to compile and to run, and how many rows a step should see."""

import time
from typing import NamedTuple

import jax.numpy as jnp

from pxsgmcmc.problem import Rows
from pxsgmcmc.tuning.flat_energy import FlatEnergy

ALL_ROWS = 500  # up to so many rows a step sees all of them: no noise, and no time to gain
BATCH_SIZE, SMALL_BATCH_SIZE = 250, 50  # of more rows, and of networks that are slow
SLOW = 2e-3  # seconds that a gradient takes
TIMES = 3  # that it is measured


class Speed(NamedTuple):
    """Of the gradient of an energy, in seconds."""

    gradient: float
    compiles: float

    @property
    def slow(self) -> bool:
        """Whether a call costs so little beside a step that nothing is gained from larger ones."""
        return self.gradient > SLOW

    @property
    def step_compiles(self) -> float:
        """Seconds that a step takes to compile, which holds the gradient and some more."""
        return 1.0 + 1.5 * self.compiles


def speed_at(energy: FlatEnergy, rows: Rows, batch_size: int) -> Speed:
    """Measure it on the first rows; the first call compiles.

    Args:
      energy: whose gradient is meant.
      rows: training rows.
      batch_size: how many of them.
    """
    assert rows.y is not None
    batch = jnp.asarray(rows.x[:batch_size]), jnp.asarray(rows.y[:batch_size])
    seconds = []
    for _ in range(1 + TIMES):
        began = time.monotonic()
        energy.gradient(energy.position, batch)
        seconds.append(time.monotonic() - began)
    return Speed(max(1e-5, min(seconds[1:])), max(0.0, seconds[0] - seconds[1]))


def speed_and_batch_size(energy: FlatEnergy, rows: Rows) -> tuple[int, Speed]:
    """Rows a step should see, and the speed with them.

    Args:
      energy: that is sampled.
      rows: training rows.
    """
    if len(rows.x) <= ALL_ROWS:
        return len(rows.x), speed_at(energy, rows, len(rows.x))
    small = speed_at(energy, rows, SMALL_BATCH_SIZE)
    if small.gradient * BATCH_SIZE > SLOW * SMALL_BATCH_SIZE:
        return SMALL_BATCH_SIZE, small
    return BATCH_SIZE, speed_at(energy, rows, BATCH_SIZE)
