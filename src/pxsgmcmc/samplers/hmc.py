"""Hamiltonian Monte Carlo with full-batch gradients (Duane et al., 1987; Neal, 2011).

One step with mass M: draw m ~ N(0, T M), take L leapfrog steps of size h,

    m <- m - h/2 dU(q),   q <- q + h m / M,   m <- m - h/2 dU(q),

and accept the end with probability min(1, exp(-dH / T)), H = U(q) + |m|^2 / (2 M);
otherwise stay.

Target, at every stable h:  exp(-U(q) / T).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from pxsgmcmc.errors import check_count, check_number
from pxsgmcmc.samplers._mass import check_mass, mass_of
from pxsgmcmc.samplers._metropolis import (
    energy_and_gradient,
    energy_difference,
    kinetic_difference,
    metropolis_test,
)
from pxsgmcmc.schedules import as_schedule
from pxsgmcmc.tree import check_float_leaves, map_like, normal_like, where
from pxsgmcmc.types import (
    Array,
    Batch,
    Key,
    MetropolisInfo,
    Potential,
    Sampler,
    SamplerFacts,
    Schedule,
    Tree,
)


class HMCState(NamedTuple):
    """State of `hmc`; momentum is drawn anew at each step."""

    step: Array  # () int32, transitions taken so far
    position: Tree


def hmc(
    potential: Potential,
    step_size: float | Schedule,
    *,
    leapfrog_steps: int,
    temperature: float = 1.0,
    metropolis: bool = True,
    mass: Tree = 1.0,
) -> Sampler:
    """Exact sampling for networks small enough that `batch` can be all the data.

    Args:
      potential: energy of (position, batch); pass the whole data set as `batch`.
      step_size: a number or a schedule.
      leapfrog_steps: gradients per step.
      temperature: 1 samples the posterior; at 0 the chain stays or moves downhill.
      metropolis: False accepts every finite end point, for burn-in.
      mass: a number, a tree prefix of the position, or an array for each of its leaves.

    Example:
      >>> sampler = hmc(lambda q, batch: jnp.sum(q**2) / 2, 0.1, leapfrog_steps=10)
      >>> state, info = sampler.step(jax.random.key(0), sampler.init(jnp.ones(3)), None)
      >>> bool(info.acceptance > 0.9)
      True

    Reference:
      Neal, MCMC using Hamiltonian dynamics, Handbook of Markov Chain Monte Carlo, 2011.
    """
    step_size = as_schedule(step_size, "step_size")
    leapfrog_steps = check_count("leapfrog_steps", leapfrog_steps, at_least=1)
    T = check_number("temperature", temperature, at_least=0.0)
    check_mass(mass)

    def init(position: Tree) -> HMCState:
        check_float_leaves("position", position)
        mass_of(mass, position)
        return HMCState(jnp.int32(0), position)

    def step(key: Key, state: HMCState, batch: Batch) -> tuple[HMCState, MetropolisInfo]:
        h = step_size(state.step)
        momentum_key, test_key = jax.random.split(key)
        M = mass_of(mass, state.position)
        z = normal_like(momentum_key, state.position)
        start = map_like(lambda z, M: jnp.sqrt(T * M) * z, z, M)
        position, momentum, energies = leapfrog(
            potential, h, leapfrog_steps, state.position, start, batch, M
        )
        change = energy_difference(potential, position, state.position, energies, batch)
        change = change + kinetic_difference(momentum, start, M)
        acceptance, accepted = metropolis_test(test_key, change, T)
        if not metropolis:
            accepted = jnp.isfinite(change)
        kept = where(accepted, position, state.position)
        energy = jnp.where(accepted, *energies)
        return HMCState(state.step + 1, kept), MetropolisInfo(energy, h, acceptance, accepted)

    facts = SamplerFacts("HMC", potential, step_size, T, mass=mass)
    return Sampler(init, step, facts)


def leapfrog(
    potential: Potential,
    h: Array,
    steps: int,
    position: Tree,
    momentum: Tree,
    batch: Batch,
    mass: Tree,
) -> tuple[Tree, Tree, tuple[Array, Array]]:
    """Position and momentum after `steps` leapfrog steps, and the energies (last, first).

    `mass` has the structure of the position.
    """
    evaluate = energy_and_gradient(potential)

    def advance(_, carry):
        q, m, _, dU = carry
        m = map_like(lambda m, dU: m - 0.5 * h * dU, m, dU)
        q = map_like(lambda q, m, M: q + h * m / M, q, m, mass)
        energy, dU = evaluate(q, batch)
        m = map_like(lambda m, dU: m - 0.5 * h * dU, m, dU)
        return q, m, energy, dU

    first, dU = evaluate(position, batch)
    q, m, last, _ = jax.lax.fori_loop(0, steps, advance, (position, momentum, first, dU))
    return q, m, (last, first)
