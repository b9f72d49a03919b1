"""An SGHMC chain whose steps are taken on the host, with a gradient that is compiled already.

Compiling the step of a deep network takes longer than a few hundred of its gradients, so chains
that only lead to where settings are measured share the gradient of the measurement.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.chain.batches import Batches
from pxsgmcmc.diagnostics.temperature import sghmc_factors
from pxsgmcmc.errors import Diverged
from pxsgmcmc.health import Heat
from pxsgmcmc.tuning.flat_energy import FlatEnergy
from pxsgmcmc.types import Batch, Tree


class HostChain:
    """A chain under way.

    Args:
      energy: around the position to start from.
      data: a tree of arrays whose leading axis counts rows.
      batch_size: rows a step sees.
      temperature: of the sampler, above 0.
      seed: of noise and batches.
      transform_batch: applied to each batch, with a key.

    Example:
      >>> energy = FlatEnergy(lambda q, batch: jnp.sum(q**2) / 2, jnp.full(100, 9.0))
      >>> chain = HostChain(energy, np.zeros(4), batch_size=2)
      >>> heat = chain.advance(400, step_size=0.2, friction={"base": 1.0})
      >>> bool(np.mean(chain.position**2) < 4.0), heat["base"].off(0.2)
      (True, False)
    """

    def __init__(
        self,
        energy: FlatEnergy,
        data: Batch,
        *,
        batch_size: int,
        temperature: float = 1.0,
        seed: int = 0,
        transform_batch: Callable[[Any, Batch], Batch] | None = None,
    ):
        self.energy, self.temperature = energy, temperature
        self.data = jax.tree.map(np.asarray, data)
        self.position, self.momentum = energy.position, np.zeros_like(energy.position)
        keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), 0))
        size = len(jax.tree.leaves(data)[0])
        self._batches = Batches(keys[0], data_size=size, batch_size=batch_size)
        self._transform = None if transform_batch is None else jax.jit(transform_batch)
        self._augment = keys[1]
        self._rng = np.random.default_rng([seed, 0])
        self.taken = 0

    @property
    def tree(self) -> Tree:
        """The position as the sampler would take it."""
        return self.energy.tree(jnp.asarray(self.position))

    def advance(
        self,
        steps: int,
        *,
        step_size: float,
        friction: Mapping[str, float],
        hottest: float = math.inf,
    ) -> dict[str, Heat]:
        """Take some steps; kinetic temperature by group over the second half of them.

        Raises:
          Diverged: if the position is not finite at the end, or a group is beyond `hottest` times
            its temperature; the chain stays where it was.
        """
        h, T, groups = step_size, self.temperature, self.energy.groups
        q, m = self.position, self.momentum.copy()
        kind = q.dtype.type
        sums = dict.fromkeys(groups, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):  # noticed at the end
            for number, rows in enumerate(self._batches.rows(self.taken, steps)):
                dU = self.energy.gradient(q, self._batch(rows, self.taken + number))
                z = self._rng.standard_normal(len(q), np.float32)
                for name, places in groups.items():
                    g = friction.get(name, 0.0)
                    m[places] *= kind(1.0 - h * g)
                    m[places] += kind(np.sqrt(2.0 * h * g * T)) * z[places] - kind(h) * dU[places]
                    if 2 * number >= steps:
                        sums[name] += float(np.vdot(m[places], m[places])) / len(m[places])
                q = q + kind(h) * m
        if not (np.isfinite(q).all() and np.isfinite(m).all()):
            raise Diverged(f"`position` is not finite after {steps} steps of {h:.2g}.")
        counted = steps - (steps + 1) // 2
        heat = {
            name: self._heat(
                sums[name] / max(1, counted), h, friction.get(name, 0.0), name, counted
            )
            for name in groups
        }
        for name, found in heat.items():
            if found.value > (hottest + found.chance) * found.expected:
                raise Diverged(f"`{name}` heats up in {steps} steps of {h:.2g}.")
        self.position, self.momentum, self.taken = q, m, self.taken + steps
        return heat

    def _heat(self, value: float, h: float, friction: float, group: str, steps: int) -> Heat:
        places = self.energy.groups[group]
        factor = sghmc_factors(h, friction)[0] if h * friction < 1.0 else 1.0
        # Momentum forgets itself in about 1 / (h friction) steps, twice as fast when squared.
        independent = max(1.0, steps * min(1.0, h * friction))
        count = (places.stop - places.start) * independent
        return Heat(value, self.temperature * factor, 3.0 * float(np.sqrt(2.0 / count)))

    def _batch(self, rows: np.ndarray, number: int) -> Batch:
        batch = jax.tree.map(lambda x: jnp.asarray(x[rows]), self.data)
        if self._transform is None:
            return batch
        return self._transform(jax.random.fold_in(self._augment, number), batch)
