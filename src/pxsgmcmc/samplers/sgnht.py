"""Stochastic gradient Nosé-Hoover thermostat (Ding et al., 2014).

One step of size h, noise constant A, temperature T, from position q with momentum m; the thermostat
x of a group of n coordinates takes the place of the friction and learns how hot the gradients are:

    m <- (1 - h x) m - h dU(q; batch) + sqrt(2 h A T) z,      z ~ N(0, I)
    q <- q + h m
    x <- x + h (|m|^2 / n - T)                                started at x = A

Target as h -> 0:  exp(-U(q) / T) N(m; 0, T) N(x; A, T / n), also when the gradient carries Gaussian
noise of a constant, unknown size (then x settles above A). Exactly, at every h: E|m|^2 / n = T.
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
    size,
    sum_of_squares,
    zeros_like,
)
from pxsgmcmc.types import Array, Batch, Key, Potential, Sampler, Schedule, StepInfo, Tree


class SGNHTState(NamedTuple):
    """State of `sgnht`."""

    step: Array  # () int32, transitions taken so far
    position: Tree
    momentum: Tree  # same structure as `position`
    thermostat: Tree  # one scalar per leaf of `friction`


def sgnht(
    potential: Potential,
    step_size: float | Schedule,
    *,
    friction: Tree,
    temperature: float = 1.0,
    noise: Tree = 1.0,
) -> Sampler:
    """SGHMC with a friction that adapts until the momentum has the right temperature.

    Args:
      potential: energy of (position, batch) in full-data units.
      step_size: a number or a schedule.
      friction: noise constant A and start of the thermostat, a number or a tree prefix of the
        position. Each leaf of it has a thermostat of its own: one number, one thermostat.
      temperature: what the thermostats hold the momentum at; at 0 no noise is injected.
      noise: factor on the standard deviation of the injected noise, a number or a tree prefix of
        the position.

    Example:
      >>> sampler = sgnht(lambda q, batch: jnp.sum(q**2) / 2, 0.1, friction=2.0)
      >>> float(sampler.init(jnp.ones(3)).thermostat)
      2.0

    Reference:
      Ding et al., Bayesian sampling using stochastic gradient thermostats, NeurIPS 2014.
    """
    step_size = as_schedule(step_size, "step_size")
    check_prefix("friction", friction)
    T = check_number("temperature", temperature, at_least=0.0)
    check_prefix("noise", noise)

    def init(position: Tree) -> SGNHTState:
        check_float_leaves("position", position)
        broadcast_prefix(friction, position, "friction")
        broadcast_prefix(noise, position, "noise")
        thermostat = jax.tree.map(lambda A: jnp.asarray(A, float), friction)
        return SGNHTState(jnp.int32(0), position, zeros_like(position), thermostat)

    def step(key: Key, state: SGNHTState, batch: Batch) -> tuple[SGNHTState, StepInfo]:
        h = step_size(state.step)
        A = broadcast_prefix(friction, state.position, "friction")
        s = broadcast_prefix(noise, state.position, "noise")
        x = broadcast_prefix(state.thermostat, state.position, "friction")
        energy, grad = jax.value_and_grad(potential)(state.position, batch)
        z = normal_like(key, state.momentum)

        def kick(m, dU, x, A, s, z):
            return (1.0 - h * x) * m - h * dU + s * jnp.sqrt(2.0 * h * A * T) * z

        momentum = map_like(kick, state.momentum, grad, x, A, s, z)
        position = map_like(lambda q, m: q + h * m, state.position, momentum)

        def adapt(x, m):  # a group may be empty: a layer without factors
            return x + h * (sum_of_squares(m) / size(m) - T) if size(m) else x

        thermostat = jax.tree.map(adapt, state.thermostat, momentum)
        return SGNHTState(state.step + 1, position, momentum, thermostat), StepInfo(energy, h)

    return Sampler(init, step)
