"""Any log density as an energy, for targets that are no network and have no data to draw from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from pxsgmcmc.errors import UserError, one_line
from pxsgmcmc.tree import widen
from pxsgmcmc.types import Array, Batch, Tree


@dataclass(frozen=True)
class DensityPotential:
    """Minus a log density; made by `from_log_density`. `full_potential` of `ggmc` takes it too."""

    log_density: Callable[[Tree], Array]

    def __call__(self, position: Tree, batch: Batch = None) -> Array:
        """U(position); there are no data, so no batch is looked at."""
        if batch is not None:
            raise UserError(
                "`problem` must be left out for a potential made by `from_log_density`, which has "
                "all its data inside, got data."
            )
        value = jnp.asarray(self.log_density(position))
        if value.shape != ():
            raise UserError(f"`log_density` must give one number, got shape {value.shape}.")
        return -widen(value)


def from_log_density(log_density: Callable[[Tree], Any]) -> DensityPotential:
    """The energy of any log density, for `px.sample` without data.

    Every number that the density knows of must be on the whole real line: give the logarithm of a
    scale, and add the logarithm of the derivative that this costs.

    Args:
      log_density: any pytree of floating-point arrays -> one number, up to a constant; in JAX,
        differentiable.

    Example:
      >>> U = from_log_density(lambda q: -0.5 * jnp.sum(q["x"] ** 2))
      >>> float(U({"x": jnp.ones(4)}))
      2.0
    """
    if not callable(log_density):
        raise UserError(f"`log_density` must be a function, got {one_line(log_density)}.")
    return DensityPotential(log_density)
