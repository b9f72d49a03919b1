"""Stochastic gradient Nosé-Hoover thermostat (Ding et al., 2014).

One step of size h, noise constant A, temperature T, from position q with momentum m and mass M; the
thermostat x of a group of n coordinates takes the place of the friction and learns how hot the
gradients are:

    m <- (1 - h x) m - h dU(q; batch) + sqrt(2 h A T M) z,      z ~ N(0, I)
    q <- q + h m / M
    x <- x + h (|m|^2 / (M n) - T)                              started at x = A

Target as h -> 0:  exp(-U(q) / T) N(m; 0, T M) N(x; A, T / n), also when the gradient carries
Gaussian noise of a constant, unknown size (then x settles above A). Exactly, at every h:
E|m|^2 / (M n) = T. Since this holds the momentum of the end of a step at T, the variance of the
position falls as 1 - h A / 2. The symmetric integrator (Leimkuhler and Shang, 2016) has an error of
second order, and none on a normal target with many coordinates:

    m <- m - h dU(q; batch),   q <- q + h/2 m / M,   x <- x + h/2 (|m|^2 / (M n) - T)
    m <- exp(-h x) m + sqrt(A T M (1 - exp(-2 h x)) / x) z
    x <- x + h/2 (|m|^2 / (M n) - T),   q <- q + h/2 m / M
"""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from pxsgmcmc.errors import UserError, check_number, one_line
from pxsgmcmc.samplers._automatic import automatic, is_automatic
from pxsgmcmc.samplers._mass import check_mass, mass_of
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


class SGNHTState(NamedTuple):
    """State of `sgnht`."""

    step: Array  # () int32, transitions taken so far
    position: Tree
    momentum: Tree  # same structure as `position`
    thermostat: Tree  # one scalar per leaf of `friction`


def sgnht(
    potential: Potential,
    step_size: float | Schedule | Literal["auto"],
    *,
    friction: Tree,
    temperature: float = 1.0,
    integrator: Literal["euler", "symmetric"] = "euler",
    mass: Tree = 1.0,
    noise: Tree = 1.0,
) -> Sampler:
    """SGHMC with a friction that adapts until the momentum has the right temperature.

    Args:
      potential: energy of (position, batch) in full-data units.
      step_size: a number or a schedule; "auto", or a cyclical one whose peak is, for `px.sample` to
        measure.
      friction: noise constant A and start of the thermostat, a number or a tree prefix of the
        position. Each leaf of it has a thermostat of its own: one number, one thermostat. "auto" to
        measure it.
      temperature: what the thermostats hold the momentum at; at 0 no noise is injected.
      integrator: "euler", as published, whose positions are too narrow by a factor near
        1 - h A / 2; or "symmetric", of second order at the same cost.
      mass: a number, a tree prefix of the position, or an array for each of its leaves.
      noise: factor on the standard deviation of the injected noise, a number or a tree prefix of
        the position.

    Example:
      >>> sampler = sgnht(lambda q, batch: jnp.sum(q**2) / 2, 0.1, friction=2.0)
      >>> float(sampler.init(jnp.ones(3)).thermostat)
      2.0

    Reference:
      Ding et al., Bayesian sampling using stochastic gradient thermostats, NeurIPS 2014.
      Leimkuhler and Shang, Adaptive thermostats for noisy gradient systems, SIAM Journal on
      Scientific Computing, 2016.
    """
    if is_automatic(step_size, friction):
        known: dict[str, Any] = {"temperature": temperature, "mass": mass, "noise": noise}

        def rebuild(h: Any, g: Tree) -> Sampler:
            return sgnht(potential, h, friction=g, integrator=integrator, **known)

        return automatic("SGNHT", rebuild, potential, step_size, friction, **known)
    step_size = as_schedule(step_size, "step_size")
    check_prefix("friction", friction)
    T = check_number("temperature", temperature, at_least=0.0)
    if integrator not in ("euler", "symmetric"):
        raise UserError(f"`integrator` must be 'euler' or 'symmetric', got {one_line(integrator)}.")
    check_mass(mass)
    check_prefix("noise", noise)

    def init(position: Tree) -> SGNHTState:
        check_float_leaves("position", position)
        broadcast_prefix(friction, position, "friction")
        broadcast_prefix(noise, position, "noise")
        mass_of(mass, position)
        thermostat = jax.tree.map(lambda A: jnp.asarray(A, float), friction)
        return SGNHTState(jnp.int32(0), position, zeros_like(position), thermostat)

    def step(key: Key, state: SGNHTState, batch: Batch) -> tuple[SGNHTState, StepInfo]:
        h = step_size(state.step)
        A = broadcast_prefix(friction, state.position, "friction")
        M = mass_of(mass, state.position)
        s = broadcast_prefix(noise, state.position, "noise")
        energy, grad = jax.value_and_grad(potential)(state.position, batch)
        z = normal_like(key, state.momentum)

        def drift(position, momentum, time):
            return map_like(lambda q, m, M: q + time * m / M, position, momentum, M)

        def adapt(thermostat, momentum, time):
            def towards_T(x, m):  # a group may be empty: a layer without factors
                return x + time * (sum_of_squares(m) / size(m) - T) if size(m) else x

            scaled = map_like(lambda m, M: m / jnp.sqrt(M), momentum, M)
            return jax.tree.map(towards_T, thermostat, scaled)

        def euler():
            def kick(m, dU, x, A, M, s, z):
                return (1.0 - h * x) * m - h * dU + s * jnp.sqrt(2.0 * h * A * T * M) * z

            x = broadcast_prefix(state.thermostat, state.position, "friction")
            momentum = map_like(kick, state.momentum, grad, x, A, M, s, z)
            position = drift(state.position, momentum, h)
            return position, momentum, adapt(state.thermostat, momentum, h)

        def symmetric():
            def rub(m, x, A, M, s, z):
                noise = jnp.sqrt(2.0 * h * A * T * M * _mean_decay(2.0 * h * x))
                return jnp.exp(-h * x) * m + s * noise * z

            momentum = map_like(lambda m, dU: m - h * dU, state.momentum, grad)
            position = drift(state.position, momentum, 0.5 * h)
            thermostat = adapt(state.thermostat, momentum, 0.5 * h)
            x = broadcast_prefix(thermostat, state.position, "friction")
            momentum = map_like(rub, momentum, x, A, M, s, z)
            position = drift(position, momentum, 0.5 * h)
            return position, momentum, adapt(thermostat, momentum, 0.5 * h)

        position, momentum, thermostat = euler() if integrator == "euler" else symmetric()
        return SGNHTState(state.step + 1, position, momentum, thermostat), StepInfo(energy, h)

    facts = SamplerFacts(
        "SGNHT", potential, step_size, T, friction, noise, mass, thermal_momentum=True
    )
    return Sampler(init, step, facts)


def _mean_decay(y: Array) -> Array:
    """(1 - exp(-y)) / y, which is 1 - y / 2 near zero, where a thermostat may well be."""
    small = jnp.abs(y) < 1e-3
    return jnp.where(small, 1.0 - 0.5 * y, -jnp.expm1(-y) / jnp.where(small, 1.0, y))
