"""Stochastic gradient Hamiltonian Monte Carlo (Chen, Fox and Guestrin, 2014).

One step of size h, friction g, temperature T, from position q with momentum m and mass M:

    m <- (1 - h g) m - h dU(q; batch) + sqrt(2 h g T M) z,      z ~ N(0, I)
    q <- q + h m / M

Target as h -> 0:  exp(-(U(q) + |m|^2 / (2 M)) / T).
The paper writes r = -m; the law of the chain is the same. Momentum is carried from draw to draw.
"""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from pxsgmcmc.errors import check_number
from pxsgmcmc.samplers._automatic import automatic, is_automatic
from pxsgmcmc.samplers._mass import check_mass, mass_of
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


class SGHMCState(NamedTuple):
    """State of `sghmc`."""

    step: Array  # () int32, transitions taken so far
    position: Tree
    momentum: Tree  # same structure as `position`


def sghmc(
    potential: Potential,
    step_size: float | Schedule | Literal["auto"],
    *,
    friction: Tree,
    temperature: float = 1.0,
    mass: Tree = 1.0,
    noise: Tree = 1.0,
) -> Sampler:
    """Langevin dynamics with momentum, by the semi-implicit Euler method.

    Stable where h g < 2 and h^2 times the largest curvature is below 4 - 2 h g.

    Args:
      potential: energy of (position, batch) in full-data units.
      step_size: a number or a schedule; "auto", or a cyclical one whose peak is, for `px.sample` to
        measure.
      friction: momentum lost per unit of time, a number or a tree prefix of the position. The
        published runs use 100 for the base parameters and 1 for the factors. "auto" to measure it.
      temperature: 1 samples the posterior, 0 is gradient descent with momentum 1 - h g.
      mass: a number, a tree prefix of the position, or an array for each of its leaves.
      noise: factor on the standard deviation of the injected noise, a number or a tree prefix of
        the position; 0 switches it off for a group.

    Example:
      >>> sampler = sghmc(lambda q, batch: jnp.sum(q**2) / 2, 0.1, friction=1.0)
      >>> state, info = sampler.step(jax.random.key(0), sampler.init(jnp.ones(3)), None)
      >>> int(state.step)
      1

    Reference:
      Chen, Fox and Guestrin, Stochastic gradient Hamiltonian Monte Carlo, ICML 2014.
    """
    if is_automatic(step_size, friction):
        known: dict[str, Any] = {"temperature": temperature, "mass": mass, "noise": noise}

        def rebuild(h: Any, g: Tree) -> Sampler:
            return sghmc(potential, h, friction=g, **known)

        return automatic("SGHMC", rebuild, potential, step_size, friction, **known)
    step_size = as_schedule(step_size, "step_size")
    check_prefix("friction", friction)
    T = check_number("temperature", temperature, at_least=0.0)
    check_mass(mass)
    check_prefix("noise", noise)

    def init(position: Tree) -> SGHMCState:
        check_float_leaves("position", position)
        for name, prefix in {"friction": friction, "noise": noise}.items():
            broadcast_prefix(prefix, position, name)
        mass_of(mass, position)
        return SGHMCState(jnp.int32(0), position, zeros_like(position))

    def step(key: Key, state: SGHMCState, batch: Batch) -> tuple[SGHMCState, StepInfo]:
        h = step_size(state.step)
        g = broadcast_prefix(friction, state.position, "friction")
        M = mass_of(mass, state.position)
        s = broadcast_prefix(noise, state.position, "noise")
        energy, grad = jax.value_and_grad(potential)(state.position, batch)
        z = normal_like(key, state.momentum)

        def kick(m, dU, g, M, s, z):
            # Each product has one addition to be fused with. Where there are two, the compiler's
            # choice, and so the last bit, would differ between a plain and an expanded chain.
            return m - h * (dU + g * m) + (s * jnp.sqrt(2.0 * h * g * T * M)) * z

        momentum = map_like(kick, state.momentum, grad, g, M, s, z)
        position = map_like(lambda q, m, M: q + h * m / M, state.position, momentum, M)
        return SGHMCState(state.step + 1, position, momentum), StepInfo(energy, h)

    facts = SamplerFacts(
        "SGHMC", potential, step_size, T, friction, noise, mass, thermal_momentum=True
    )
    return Sampler(init, step, facts)
