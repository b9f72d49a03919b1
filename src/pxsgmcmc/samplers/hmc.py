"""Hamiltonian Monte Carlo with full-batch gradients (Duane et al., 1987; Neal, 2011).

One step with mass M: draw m ~ N(0, T M), take L leapfrog steps of size h,

    m <- m - h/2 dU(q),   q <- q + h m / M,   m <- m - h/2 dU(q),

and accept the end with probability min(1, exp(-dH / T)), H = U(q) + |m|^2 / (2 M);
otherwise stay. With jitter j, L is drawn anew at each step from L - jL to L + jL. While it adapts
(`adapt`), h and M are changed by what happened before; after that they are fixed.

Target, at every stable h and M:  exp(-U(q) / T).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from pxsgmcmc.errors import UserError, check_count, check_number, one_line
from pxsgmcmc.samplers._mass import check_mass, mass_of
from pxsgmcmc.samplers._metropolis import (
    energy_and_gradient,
    energy_difference,
    kinetic_difference,
    metropolis_test,
)
from pxsgmcmc.samplers.adaptation import (
    Adaptation,
    AdaptationState,
    adapted,
    begin,
    factor_of,
    mass_in_use,
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
    adaptation: AdaptationState | None = None  # without `adapt`


def hmc(
    potential: Potential,
    step_size: float | Schedule,
    *,
    leapfrog_steps: int,
    temperature: float = 1.0,
    metropolis: bool = True,
    mass: Tree = 1.0,
    jitter: float = 0.0,
    adapt: Adaptation | None = None,
) -> Sampler:
    """Exact sampling for densities whose gradient can be had whole: `batch` must be all the data.

    Args:
      potential: energy of (position, batch); pass the whole data set as `batch`.
      step_size: a number or a schedule; with `adapt`, where the search for a better one begins.
      leapfrog_steps: gradients per step.
      temperature: 1 samples the posterior; at 0 the chain stays or moves downhill.
      metropolis: False accepts every finite end point, for burn-in.
      mass: a number, a tree prefix of the position, or an array for each of its leaves;
        with `adapt`, where the search begins.
      jitter: share of `leapfrog_steps` by which their number varies at random from step to step,
        from 0 to 1. Without it, a trajectory that is a whole period of some direction comes back to
        where it began.
      adapt: from `px.adaptation`: a step size and a diagonal mass are found during burn-in.

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
    spread = round(check_number("jitter", jitter, at_least=0.0, at_most=1.0) * leapfrog_steps)
    if jitter and not spread:
        raise UserError(
            f"`jitter` must change the {leapfrog_steps} leapfrog steps by at least one, got "
            f"{jitter}."
        )
    _check_adapt(adapt, step_size)

    def init(position: Tree) -> HMCState:
        check_float_leaves("position", position)
        M = mass_of(mass, position)
        return HMCState(jnp.int32(0), position, adapt and begin(adapt, position, M))

    def step(key: Key, state: HMCState, batch: Batch) -> tuple[HMCState, MetropolisInfo]:
        h = step_size(state.step)
        M = mass_of(mass, state.position)
        if adapt is not None and state.adaptation is not None:
            h = h * factor_of(adapt, state.adaptation, state.step)
            M = mass_in_use(state.adaptation, M)
        momentum_key, test_key, *more = jax.random.split(key, 3 if spread else 2)
        L = leapfrog_steps
        if spread:
            L = jax.random.randint(more[0], (), max(1, L - spread), L + spread + 1)
        z = normal_like(momentum_key, state.position)
        start = map_like(lambda z, M: jnp.sqrt(T * M) * z, z, M)
        position, momentum, energies = leapfrog(potential, h, L, state.position, start, batch, M)
        change = energy_difference(potential, position, state.position, energies, batch)
        change = change + kinetic_difference(momentum, start, M)
        acceptance, accepted = metropolis_test(test_key, change, T)
        if not metropolis:
            accepted = jnp.isfinite(change)
        kept = where(accepted, position, state.position)
        energy = jnp.where(accepted, *energies)
        learned = state.adaptation
        if adapt is not None and learned is not None:
            learned = adapted(adapt, learned, state.step, acceptance, kept)
        info = MetropolisInfo(energy, h, acceptance, accepted)
        return HMCState(state.step + 1, kept, learned), info

    steps = 0 if adapt is None else adapt.steps
    facts = SamplerFacts("HMC", potential, step_size, T, mass=mass, adaptation_steps=steps)
    return Sampler(init, step, facts)


def _check_adapt(adapt: Any, step_size: Schedule) -> None:
    if not (adapt is None or isinstance(adapt, Adaptation)):
        raise UserError(f"`adapt` must be made by `px.adaptation`, got {one_line(adapt)}.")
    if adapt is not None and hasattr(step_size, "period"):
        raise UserError(
            "`step_size` must be a number with `adapt`, which looks for one that fits, got a "
            "cyclical schedule."
        )


def leapfrog(
    potential: Potential,
    h: Array,
    steps: int | Array,
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
