"""Stochastic gradient Riemann Hamiltonian Monte Carlo with RMSProp's diagonal (Ma et al., 2015).

One step of size h, friction g, temperature T, from position q with momentum m and running mean
square v of the gradient:

    v <- b v + (1 - b) dU(q; batch)^2,      p = (e + sqrt(v))^(-1/2)
    m <- m - h p dU(q; batch) - h g p^2 m + sqrt(2 h g T) p z,      z ~ N(0, I)
    q <- q + h p m

Target as h -> 0 for a frozen p:  exp(-(U(q) + |m|^2 / 2) / T). The divergence of p, which the full
recipe adds to the momentum, is left out: v changes slowly and the term is costly.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from pxsgmcmc.errors import check_number
from pxsgmcmc.schedules import as_schedule
from pxsgmcmc.tree import (
    broadcast_prefix,
    check_float_leaves,
    check_prefix,
    map_like,
    normal_like,
    zeros_like,
)
from pxsgmcmc.types import Array, Batch, Key, Potential, Sampler, Schedule, StepInfo, Tree


class SGRHMCState(NamedTuple):
    """State of `sgrhmc`."""

    step: Array  # () int32, transitions taken so far
    position: Tree
    momentum: Tree  # same structure as `position`
    square: Tree  # running mean of the squared gradient, same structure as `position`


def sgrhmc(
    potential: Potential,
    step_size: float | Schedule,
    *,
    friction: Tree,
    temperature: float = 1.0,
    decay: float = 0.99,
    epsilon: float = 1e-8,
    noise: Tree = 1.0,
) -> Sampler:
    """SGHMC in coordinates stretched by the recent size of the gradient.

    Args:
      potential: energy of (position, batch) in full-data units.
      step_size: a number or a schedule.
      friction: a number or a tree prefix of the position.
      temperature: 1 samples the posterior, 0 injects no noise.
      decay: weight b of the past in the running mean square; 1 freezes it at its start.
      epsilon: added to the root mean square.
      noise: factor on the standard deviation of the injected noise, a number or a tree prefix of
        the position.

    Example:
      >>> sampler = sgrhmc(lambda q, batch: jnp.sum(q**2) / 2, 1e-2, friction=1.0)
      >>> int(sampler.init(jnp.ones(3)).step)
      0

    Reference:
      Ma, Chen and Fox, A complete recipe for stochastic gradient MCMC, NeurIPS 2015.
    """
    step_size = as_schedule(step_size, "step_size")
    check_prefix("friction", friction)
    T = check_number("temperature", temperature, at_least=0.0)
    b = check_number("decay", decay, at_least=0.0, at_most=1.0)
    e = check_number("epsilon", epsilon, above=0.0)
    check_prefix("noise", noise)

    def init(position: Tree) -> SGRHMCState:
        check_float_leaves("position", position)
        broadcast_prefix(friction, position, "friction")
        broadcast_prefix(noise, position, "noise")
        return SGRHMCState(jnp.int32(0), position, zeros_like(position), zeros_like(position))

    def step(key: Key, state: SGRHMCState, batch: Batch) -> tuple[SGRHMCState, StepInfo]:
        h = step_size(state.step)
        g = broadcast_prefix(friction, state.position, "friction")
        s = broadcast_prefix(noise, state.position, "noise")
        energy, grad = jax.value_and_grad(potential)(state.position, batch)
        z = normal_like(key, state.momentum)
        square = map_like(lambda v, dU: b * v + (1.0 - b) * dU**2, state.square, grad)

        def stretch(v):
            return 1.0 / jnp.sqrt(e + jnp.sqrt(v))

        def kick(m, dU, v, g, s, z):
            p = stretch(v)
            return m - h * p * dU - h * g * p**2 * m + s * jnp.sqrt(2.0 * h * g * T) * p * z

        momentum = map_like(kick, state.momentum, grad, square, g, s, z)
        position = map_like(
            lambda q, m, v: q + h * stretch(v) * m, state.position, momentum, square
        )
        return SGRHMCState(state.step + 1, position, momentum, square), StepInfo(energy, h)

    return Sampler(init, step)
