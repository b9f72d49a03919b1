"""Gradient-guided Monte Carlo: OBABO with a Metropolis test (Garriga-Alonso and Fortuin, 2021).

One step of size h, friction g, a = exp(-g h), from position q with momentum m, mass M and gradient
dU at q:

    O:  m <- sqrt(a) m + sqrt((1 - a) T M) z
    B:  m <- m - h/2 dU
    A:  q <- q + h m / M
    B:  m <- m - h/2 dU,    dU taken anew at q and kept for the next step
    O:  m <- sqrt(a) m + sqrt((1 - a) T M) z'

Steps come in windows. The gradients at both ends of a window are of all the data, those inside of
one mini-batch each, the same one for both half kicks. At the end of a window, with E the change of
U on all the data plus the kinetic energy gained in its BAB parts, the chain moves on with
probability min(1, exp(-E / T)); otherwise it returns to the start of the window with its momentum
reversed. Without the reversal the target below would be missed.

Target at window ends, at every stable h:  exp(-(U(q) + |m|^2 / (2 M)) / T).
"""

from collections.abc import Callable
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
from pxsgmcmc.tree import (
    broadcast_prefix,
    check_float_leaves,
    check_prefix,
    map_like,
    normal_like,
    where,
    zeros_like,
)
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


class WindowStart(NamedTuple):
    """Where a rejected window returns to."""

    position: Tree
    momentum: Tree
    gradient: Tree  # of all the data
    energy: Array  # () of all the data


class GGMCState(NamedTuple):
    """State of `ggmc`; a draw should be taken where `step` is a multiple of the window."""

    step: Array  # () int32, transitions taken so far
    position: Tree
    momentum: Tree
    gradient: Tree  # at `position`
    work: Array  # () kinetic energy gained in the window's BAB parts so far
    start: WindowStart


def ggmc(
    potential: Potential,
    step_size: float | Schedule,
    *,
    full_potential: Callable[[Tree], Array],
    friction: Tree,
    window: int = 1,
    temperature: float = 1.0,
    mass: Tree = 1.0,
) -> Sampler:
    """Langevin dynamics corrected by a test on all the data once per window.

    Args:
      potential: energy of (position, batch) in full-data units, used inside a window.
      step_size: a number or a schedule, read once at the start of each window.
      full_potential: energy of a position on all the data, such as `potential.on_all(data)`. If it
        has a method `difference(new, old)`, that decides the test: float32 totals lose its digits.
      friction: a number or a tree prefix of the position.
      window: steps between tests; 1 takes full-data gradients only.
      temperature: 1 samples the posterior; at 0 no noise is injected and only downhill accepted.
      mass: a number, a tree prefix of the position, or an array for each of its leaves.

    Example:
      >>> energy = lambda q: jnp.sum(q**2) / 2
      >>> sampler = ggmc(lambda q, _: energy(q), 0.1, full_potential=energy, friction=1.0)
      >>> state, info = sampler.step(jax.random.key(0), sampler.init(jnp.ones(3)), None)
      >>> bool(info.accepted)
      True

    Reference:
      Garriga-Alonso and Fortuin, Exact Langevin dynamics with stochastic gradients, 2021.
    """
    step_size = as_schedule(step_size, "step_size")
    check_prefix("friction", friction)
    window = check_count("window", window, at_least=1)
    T = check_number("temperature", temperature, at_least=0.0)
    check_mass(mass)
    full, inside = energy_and_gradient(full_potential), energy_and_gradient(potential)

    def init(position: Tree) -> GGMCState:
        check_float_leaves("position", position)
        broadcast_prefix(friction, position, "friction")
        mass_of(mass, position)
        energy, gradient = full(position)
        momentum = zeros_like(position)
        start = WindowStart(position, momentum, gradient, energy)
        return GGMCState(jnp.int32(0), position, momentum, gradient, jnp.zeros_like(energy), start)

    def step(key: Key, state: GGMCState, batch: Batch) -> tuple[GGMCState, MetropolisInfo]:
        h = step_size(state.step - state.step % window)
        g = broadcast_prefix(friction, state.position, "friction")
        M = mass_of(mass, state.position)
        first_key, last_key, test_key = jax.random.split(key, 3)
        ends_window = (state.step + 1) % window == 0

        def refresh(key, momentum):
            def mix(m, g, M, z):
                a = jnp.exp(-g * h)
                return jnp.sqrt(a) * m + jnp.sqrt((1.0 - a) * T * M) * z

            return map_like(mix, momentum, g, M, normal_like(key, momentum))

        before = refresh(first_key, state.momentum)
        momentum = map_like(lambda m, dU: m - 0.5 * h * dU, before, state.gradient)
        position = map_like(lambda q, m, M: q + h * m / M, state.position, momentum, M)
        start = state.start

        def end_of_window():
            energy, gradient = full(position)
            energies = energy, start.energy
            change = energy_difference(full_potential, position, start.position, energies)
            return energy, gradient, change

        def inside_window():
            energy, gradient = inside(position, batch)
            return energy, gradient, jnp.zeros_like(energy)

        energy, gradient, change = jax.lax.cond(ends_window, end_of_window, inside_window)
        after = map_like(lambda m, dU: m - 0.5 * h * dU, momentum, gradient)
        work = state.work + kinetic_difference(after, before, M)
        moved = WindowStart(position, refresh(last_key, after), gradient, energy)

        acceptance, accepted = metropolis_test(test_key, change + work, T)
        returned = start._replace(momentum=jax.tree.map(jnp.negative, start.momentum))
        kept = where(accepted | ~ends_window, moved, returned)
        new_state = GGMCState(
            step=state.step + 1,
            position=kept.position,
            momentum=kept.momentum,
            gradient=kept.gradient,
            work=jnp.where(ends_window, jnp.zeros_like(work), work),
            start=where(ends_window, kept, start),
        )
        info = MetropolisInfo(
            energy=kept.energy,
            step_size=h,
            acceptance=jnp.where(ends_window, acceptance, jnp.nan),
            accepted=accepted | ~ends_window,
        )
        return new_state, info

    facts = SamplerFacts(
        "GGMC", potential, step_size, T, friction, mass=mass, thermal_momentum=True
    )
    return Sampler(init, step, facts)
