"""Stochastic gradient descent with momentum: the samplers' limit at temperature zero.

One step of size h with momentum coefficient b, from position q with velocity m:

    m <- b m - dU(q; batch)
    q <- q + h m

Goes to a minimum of U: a maximum-a-posteriori fit, or one member of a deep ensemble. SGHMC at T = 0
is this with step size h^2 and coefficient 1 - h g. A rate r for the mean loss of N data is
h = r / N.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from pxsgmcmc.errors import check_number
from pxsgmcmc.schedules import as_schedule
from pxsgmcmc.tree import check_float_leaves, map_like, zeros_like
from pxsgmcmc.types import (
    Array,
    Batch,
    Key,
    Potential,
    Sampler,
    SamplerFacts,
    Schedule,
    StepInfo,
    Tree,
)


class SGDState(NamedTuple):
    """State of `sgd`."""

    step: Array  # () int32, transitions taken so far
    position: Tree
    momentum: Tree  # same structure as `position`


def sgd(potential: Potential, step_size: float | Schedule, *, momentum: float = 0.0) -> Sampler:
    """Gradient descent, with heavy-ball momentum if asked for. The key is not used.

    Args:
      potential: energy of (position, batch) in full-data units.
      step_size: a number or a schedule.
      momentum: coefficient b in [0, 1).

    Example:
      >>> sampler = sgd(lambda q, batch: jnp.sum(q**2) / 2, 0.5)
      >>> state, _ = sampler.step(jax.random.key(0), sampler.init(jnp.ones(2)), None)
      >>> state.position.tolist()
      [0.5, 0.5]

    Reference:
      Polyak, Some methods of speeding up the convergence of iteration methods, 1964.
    """
    step_size = as_schedule(step_size, "step_size")
    b = check_number("momentum", momentum, at_least=0.0, below=1.0)

    def init(position: Tree) -> SGDState:
        check_float_leaves("position", position)
        return SGDState(jnp.int32(0), position, zeros_like(position))

    def step(key: Key, state: SGDState, batch: Batch) -> tuple[SGDState, StepInfo]:
        del key
        h = step_size(state.step)
        energy, grad = jax.value_and_grad(potential)(state.position, batch)
        velocity = map_like(lambda m, dU: b * m - dU, state.momentum, grad)
        position = map_like(lambda q, m: q + h * m, state.position, velocity)
        return SGDState(state.step + 1, position, velocity), StepInfo(energy, h)

    facts = SamplerFacts("SGD", potential, step_size, 0.0)
    return Sampler(init, step, facts)
