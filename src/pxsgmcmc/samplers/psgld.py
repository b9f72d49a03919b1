"""Preconditioned SGLD with RMSProp's diagonal (Li, Chen, Carlson and Carin, 2016).

One step of size h at temperature T, from position q with running mean square v of the gradient,
with a fixed diagonal mass M:

    v <- b v + (1 - b) dU(q; batch)^2,      G = 1 / (M (sqrt(v) + e))
    q <- q - h G dU(q; batch) + sqrt(2 h T G) z,      z ~ N(0, I)

where v starts from the first gradient (`running_square.py`). Target as h -> 0 for a frozen G:
exp(-U(q) / T). The curvature correction (the divergence of G) is left out, as in the paper, which
costs little while 1 / (1 - b) steps are many more than a coordinate takes to forget itself. The
gradient is that of the full-data energy, so G is small.
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


class PSGLDState(NamedTuple):
    """State of `psgld`."""

    step: Array  # () int32, transitions taken so far
    position: Tree
    square: Tree  # running mean of the squared gradient, same structure as `position`


def psgld(
    potential: Potential,
    step_size: float | Schedule,
    *,
    temperature: float = 1.0,
    decay: float = 0.99,
    epsilon: float = 1e-8,
    preconditioner_start: PreconditionerStart = "gradient",
    mass: Tree = 1.0,
    noise: Tree = 1.0,
) -> Sampler:
    """SGLD whose step in each coordinate is scaled by the recent size of its gradient.

    Args:
      potential: energy of (position, batch) in full-data units.
      step_size: a number or a schedule.
      temperature: 1 samples the posterior, 0 is RMSProp.
      decay: weight b of the past in the running mean square; 1 freezes it at its start.
      epsilon: added to the root mean square.
      preconditioner_start: where the running mean square begins. "gradient" takes the square of the
        first gradient, in each coordinate at least the mean over its leaf. "zero" is the published
        form: its first steps are too long, by a factor of 1 / sqrt(1 - b) or more, and throw away a
        chain that starts near a mode.
      mass: a number, a tree prefix of the position, or an array for each of its leaves; it slows
        down what the preconditioner alone moves too fast.
      noise: factor on the standard deviation of the injected noise, a number or a tree prefix of
        the position.

    Example:
      >>> sampler = psgld(lambda q, batch: jnp.sum(q**2) / 2, 1e-3)
      >>> sampler.init(jnp.ones(3)).square.tolist()
      [0.0, 0.0, 0.0]

    Reference:
      Li et al., Preconditioned stochastic gradient Langevin dynamics for deep neural networks,
      AAAI 2016.
    """
    step_size = as_schedule(step_size, "step_size")
    T = check_number("temperature", temperature, at_least=0.0)
    b = check_number("decay", decay, at_least=0.0, at_most=1.0)
    e = check_number("epsilon", epsilon, above=0.0)
    begin = check_preconditioner_start(preconditioner_start)
    check_mass(mass)
    check_prefix("noise", noise)

    def init(position: Tree) -> PSGLDState:
        check_float_leaves("position", position)
        mass_of(mass, position)
        broadcast_prefix(noise, position, "noise")
        return PSGLDState(jnp.int32(0), position, zeros_like(position))

    def step(key: Key, state: PSGLDState, batch: Batch) -> tuple[PSGLDState, StepInfo]:
        h = step_size(state.step)
        M = mass_of(mass, state.position)
        s = broadcast_prefix(noise, state.position, "noise")
        energy, grad = jax.value_and_grad(potential)(state.position, batch)
        z = normal_like(key, state.position)
        square = updated_square(state.square, grad, state.step, b, begin)

        def move(q, dU, v, M, s, z):
            G = 1.0 / ((jnp.sqrt(v) + e) * M)
            return q - h * G * dU + s * jnp.sqrt(2.0 * h * T * G) * z

        position = map_like(move, state.position, grad, square, M, s, z)
        return PSGLDState(state.step + 1, position, square), StepInfo(energy, h)

    facts = SamplerFacts("pSGLD", potential, step_size, T, noise=noise)
    return Sampler(init, step, facts)
