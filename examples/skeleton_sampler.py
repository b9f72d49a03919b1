"""A sampler to copy: the Leimkuhler-Matthews method for Langevin dynamics (2013).

Every sampler file has this order: a docstring with the update and the target, the state, the
builder; in the builder the checks, `init`, `step`, `return`. Replace the equation, keep the shape.

One step of size h at temperature T, from position q with the normals z of the step before:

    q <- q - h dU(q; batch) + sqrt(2 h T) (z + z') / 2,      z' ~ N(0, I), kept for the next step

Target as h -> 0:  exp(-U(q) / T). On a Gaussian target it is exact at every stable h.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from pxsgmcmc.errors import check_number
from pxsgmcmc.schedules import as_schedule
from pxsgmcmc.tree import check_float_leaves, map_like, normal_like, zeros_like
from pxsgmcmc.types import Array, Batch, Key, Potential, Sampler, Schedule, StepInfo, Tree


class SkeletonState(NamedTuple):
    """State of `skeleton`; every state begins with these two fields."""

    step: Array  # () int32, transitions taken so far
    position: Tree
    normals: Tree  # of the step before, same structure as `position`


def skeleton(
    potential: Potential, step_size: float | Schedule, *, temperature: float = 1.0
) -> Sampler:
    """Langevin dynamics whose noise is averaged over two steps.

    Args:
      potential: energy of (position, batch) in full-data units.
      step_size: a number or a schedule.
      temperature: 1 samples the posterior, 0 is gradient descent.

    Example:
      >>> sampler = skeleton(lambda q, batch: jnp.sum(q**2) / 2, 0.1)
      >>> state, info = sampler.step(jax.random.key(0), sampler.init(jnp.ones(3)), None)
      >>> int(state.step), float(info.energy)
      (1, 1.5)

    Reference:
      Leimkuhler and Matthews, Rational construction of stochastic numerical methods for molecular
      sampling, Applied Mathematics Research eXpress 2013.
    """
    step_size = as_schedule(step_size, "step_size")
    T = check_number("temperature", temperature, at_least=0.0)

    def init(position: Tree) -> SkeletonState:
        check_float_leaves("position", position)
        return SkeletonState(jnp.int32(0), position, zeros_like(position))

    def step(key: Key, state: SkeletonState, batch: Batch) -> tuple[SkeletonState, StepInfo]:
        h = step_size(state.step)
        energy, grad = jax.value_and_grad(potential)(state.position, batch)
        normals = normal_like(key, state.position)

        def move(q, dU, before, z):
            return q - h * dU + jnp.sqrt(2.0 * h * T) * (before + z) / 2.0

        position = map_like(move, state.position, grad, state.normals, normals)
        return SkeletonState(state.step + 1, position, normals), StepInfo(energy, h)

    return Sampler(init, step)
