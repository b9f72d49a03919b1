"""Stochastic gradient Riemann Hamiltonian Monte Carlo with RMSProp's diagonal (Ma et al., 2015).

One step of size h, friction g, temperature T, from position q with momentum m, mass M and
running mean square v of the gradient:

    v <- b v + (1 - b) dU(q; batch)^2,      p = (e + sqrt(v))^(-1/2)
    m <- m - h p dU(q; batch) - h g p^2 m + sqrt(2 h g T M) p z,      z ~ N(0, I)
    q <- q + h p m / M

where v starts from the first gradient (`running_square.py`). Target as h -> 0 for a frozen p:
exp(-(U(q) + |m|^2 / (2 M)) / T). The divergence of p, which the full recipe adds to the momentum,
is left out: v changes slowly and the term is costly.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from pxsgmcmc.errors import check_number
from pxsgmcmc.samplers._mass import check_mass, mass_of
from pxsgmcmc.samplers._running_square import (
    PreconditionerStart,
    check_preconditioner_start,
    updated_square,
)
from pxsgmcmc.schedules import as_schedule
from pxsgmcmc.tree import (
    broadcast_prefix,
    check_float_leaves,
    check_prefix,
    map_like,
    normal_like,
    zeros_like,
)
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
    preconditioner_start: PreconditionerStart = "gradient",
    mass: Tree = 1.0,
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
      preconditioner_start: where the running mean square begins. "gradient" takes the square of the
        first gradient, in each coordinate at least the mean over its leaf. "zero" is the published
        form: its first steps are too long, by a factor of 1 / sqrt(1 - b) or more, and throw away a
        chain that starts near a mode.
      mass: a number, a tree prefix of the position, or an array for each of its leaves.
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
    begin = check_preconditioner_start(preconditioner_start)
    check_mass(mass)
    check_prefix("noise", noise)

    def init(position: Tree) -> SGRHMCState:
        check_float_leaves("position", position)
        broadcast_prefix(friction, position, "friction")
        broadcast_prefix(noise, position, "noise")
        mass_of(mass, position)
        return SGRHMCState(jnp.int32(0), position, zeros_like(position), zeros_like(position))

    def step(key: Key, state: SGRHMCState, batch: Batch) -> tuple[SGRHMCState, StepInfo]:
        h = step_size(state.step)
        g = broadcast_prefix(friction, state.position, "friction")
        M = mass_of(mass, state.position)
        s = broadcast_prefix(noise, state.position, "noise")
        energy, grad = jax.value_and_grad(potential)(state.position, batch)
        z = normal_like(key, state.momentum)
        square = updated_square(state.square, grad, state.step, b, begin)

        def stretch(v):
            return 1.0 / jnp.sqrt(e + jnp.sqrt(v))

        def kick(m, dU, v, g, M, s, z):
            p = stretch(v)
            return m - h * p * dU - h * g * p**2 * m + s * jnp.sqrt(2.0 * h * g * T * M) * p * z

        momentum = map_like(kick, state.momentum, grad, square, g, M, s, z)
        position = map_like(
            lambda q, m, v, M: q + h * stretch(v) * m / M, state.position, momentum, square, M
        )
        return SGRHMCState(state.step + 1, position, momentum, square), StepInfo(energy, h)

    facts = SamplerFacts(
        "SGRHMC", potential, step_size, T, friction, noise, mass, thermal_momentum=True
    )
    return Sampler(init, step, facts)
