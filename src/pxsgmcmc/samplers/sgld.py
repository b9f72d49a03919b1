"""Stochastic gradient Langevin dynamics (Welling and Teh, 2011).

One step of size h at temperature T, from position q, with a fixed diagonal mass M:

    q <- q - h dU(q; batch) / M + sqrt(2 h T / M) z,      z ~ N(0, I)

Target as h -> 0:  exp(-U(q) / T).
"""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from pxsgmcmc.errors import check_number
from pxsgmcmc.samplers._automatic import automatic, is_automatic
from pxsgmcmc.samplers._mass import check_mass, mass_of
from pxsgmcmc.schedules import as_schedule
from pxsgmcmc.tree import broadcast_prefix, check_float_leaves, check_prefix, map_like, normal_like
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


class SGLDState(NamedTuple):
    """State of `sgld`."""

    step: Array  # () int32, transitions taken so far
    position: Tree


def sgld(
    potential: Potential,
    step_size: float | Schedule | Literal["auto"],
    *,
    temperature: float = 1.0,
    mass: Tree = 1.0,
    noise: Tree = 1.0,
) -> Sampler:
    """Langevin dynamics: a gradient step and noise that balances it.

    Args:
      potential: energy of (position, batch) in full-data units.
      step_size: a number or a schedule; "auto", or a cyclical one whose peak is, for `px.sample` to
        measure.
      temperature: 1 samples the posterior, 0 is gradient descent.
      mass: a number, a tree prefix of the position, or an array for each of its leaves.
      noise: factor on the standard deviation of the injected noise, a number or a tree prefix of
        the position; 0 switches it off for a group.

    Example:
      >>> sampler = sgld(lambda q, batch: jnp.sum(q**2) / 2, 0.1)
      >>> state, info = sampler.step(jax.random.key(0), sampler.init(jnp.ones(3)), None)
      >>> float(info.energy)
      1.5

    Reference:
      Welling and Teh, Bayesian learning via stochastic gradient Langevin dynamics, ICML 2011.
    """
    if is_automatic(step_size):
        known: dict[str, Any] = {"temperature": temperature, "mass": mass, "noise": noise}

        def rebuild(h: Any, _: Tree) -> Sampler:
            return sgld(potential, h, **known)

        return automatic("SGLD", rebuild, potential, step_size, **known)
    step_size = as_schedule(step_size, "step_size")
    T = check_number("temperature", temperature, at_least=0.0)
    check_mass(mass)
    check_prefix("noise", noise)

    def init(position: Tree) -> SGLDState:
        check_float_leaves("position", position)
        mass_of(mass, position)
        broadcast_prefix(noise, position, "noise")
        return SGLDState(jnp.int32(0), position)

    def step(key: Key, state: SGLDState, batch: Batch) -> tuple[SGLDState, StepInfo]:
        h = step_size(state.step)
        M = mass_of(mass, state.position)
        s = broadcast_prefix(noise, state.position, "noise")
        energy, grad = jax.value_and_grad(potential)(state.position, batch)
        z = normal_like(key, state.position)

        def move(q, dU, M, s, z):
            return q - h * dU / M + s * jnp.sqrt(2.0 * h * T / M) * z

        position = map_like(move, state.position, grad, M, s, z)
        return SGLDState(state.step + 1, position), StepInfo(energy, h)

    facts = SamplerFacts("SGLD", potential, step_size, T, noise=noise)
    return Sampler(init, step, facts)
