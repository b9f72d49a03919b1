"""A step size and a diagonal mass found during burn-in, and frozen after it.

The step size is h times a factor f, by dual averaging (Nesterov, 2009; Hoffman and Gelman, 2014):
with a_t the acceptance at step t since the last restart and a* the one wished for,

    e_t = e_{t-1} + ((a* - a_t) - e_{t-1}) / (t + 10),   log f_t = mu - 5 sqrt(t) e_t,

and after the last step the average of log f with weights t^(-3/4) holds. (The gain is a quarter of
the usual one, whose swings leave the acceptance of a fixed number of leapfrog steps 0.1 too high at
a* = 0.8.) The mass is one over the
variance of the positions seen in a window; windows double in length, and each restarts the search
for f. All of it is in the state: a chain that is resumed goes on as it would have.

Target: while it adapts, none; after that the sampler's own, since nothing changes any more.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.errors import UserError, check_count, check_number, one_line
from pxsgmcmc.tree import map_like, where, widen
from pxsgmcmc.types import Array, Tree

FIRST_WINDOW = 25
SHRINKAGE = 5.0  # positions that the variance found before counts for


class Adaptation(NamedTuple):
    """Made by `adaptation`."""

    steps: int
    acceptance: float
    mass: bool


def adaptation(steps: int, *, acceptance: float = 0.8, mass: bool = True) -> Adaptation:
    """What `hmc(..., adapt=...)` adapts, and for how long.

    Args:
      steps: the first so many steps of a chain adapt; after them everything is frozen. Give
        `px.sample` a `burn_in` of at least as many: draws before that have no law. 500 to 1000 are
        usual, and below 20 only the step size is adapted.
      acceptance: the mean probability of acceptance that the step size is to have. Higher is slower
        and safer where the curvature changes.
      mass: whether a mass for each coordinate is adapted too.

    Example:
      >>> adaptation(1000).acceptance
      0.8

    Reference:
      Hoffman and Gelman, The No-U-Turn sampler, Journal of Machine Learning Research, 2014.
    """
    check_count("steps", steps, at_least=1)
    check_number("acceptance", acceptance, above=0.0, below=1.0)
    if not isinstance(mass, bool):
        raise UserError(
            f"`mass` must be True or False, got {one_line(mass)}; a start is for `hmc`."
        )
    return Adaptation(steps, float(acceptance), mass)


class Spread(NamedTuple):
    """Running mean and variance of positions, by Welford's sums."""

    variance: Tree  # one over the mass in use
    seen: Array  # () positions in this window
    mean: Tree
    squares: Tree  # summed squares of distances from the mean


class AdaptationState(NamedTuple):
    """What has been found so far."""

    log_factor: Array  # () on the step size, while adapting
    log_average: Array  # () the one that stays
    centre: Array  # () mu
    error: Array  # () running mean of a* - a
    searched: Array  # () steps since the last restart
    spread: Spread | None


def windows(steps: int) -> tuple[int, list[int]]:
    """The step at which positions begin to count, and those at which a window ends.

    Example:
      >>> windows(1000)
      (75, [100, 150, 250, 800])
    """
    if steps < 20:
        return steps, []
    # An average over fewer steps than a fifth would still have the search's first jumps in it.
    first, last = min(75, round(0.15 * steps)), steps - round(0.2 * steps)
    ends, length = [], min(FIRST_WINDOW, last - first)
    end = first + length
    while end + 2 * length <= last - 2 * length:
        ends.append(end)
        length *= 2
        end += length
    if end + 2 * length <= last:  # the last window takes what is left
        ends.append(end)
    return first, [*ends, last]


def begin(settings: Adaptation, position: Tree, mass: Tree) -> AdaptationState:
    """Before the first step; `mass` has the structure of the position."""
    zero = jnp.zeros((), float)
    spread = None
    if settings.mass:
        wide = jax.tree.map(widen, position)
        variance = jax.tree.map(
            lambda q, M: jnp.full_like(q, 1.0) / jnp.asarray(M, q.dtype), wide, mass
        )
        nothing = jax.tree.map(jnp.zeros_like, wide)
        spread = Spread(variance, zero, nothing, nothing)
    return AdaptationState(zero, zero, jnp.full((), np.log(10.0), float), zero, zero, spread)


def factor_of(settings: Adaptation, state: AdaptationState, step: Array) -> Array:
    """The factor on the step size of step number `step`."""
    return jnp.exp(jnp.where(step < settings.steps, state.log_factor, state.log_average))


def mass_in_use(state: AdaptationState, mass: Tree) -> Tree:
    """What was adapted, or the mass that was given."""
    if state.spread is None:
        return mass
    return jax.tree.map(lambda variance: 1.0 / variance, state.spread.variance)


def adapted(
    settings: Adaptation, state: AdaptationState, step: Array, acceptance: Array, position: Tree
) -> AdaptationState:
    """The state after step number `step`, which was accepted with a probability and ended here."""
    after = _search(settings, state, acceptance)
    if state.spread is not None:
        first, ends = windows(settings.steps)
        counts = (step >= first) & (step < (ends[-1] if ends else 0))
        spread = where(counts, _add(state.spread, position), state.spread)
        after = after._replace(spread=spread)
        if ends:
            ended = jnp.any(step + 1 == jnp.asarray(ends, step.dtype))
            after = where(ended, _restart(after), after)
    return where(step < settings.steps, after, state)


def _search(settings: Adaptation, state: AdaptationState, acceptance: Array) -> AdaptationState:
    """One step of dual averaging."""
    t = state.searched + 1.0
    short = settings.acceptance - acceptance.astype(state.error.dtype)
    error = state.error + (short - state.error) / (t + 10.0)
    log_factor = state.centre - 5.0 * jnp.sqrt(t) * error
    weight = t**-0.75
    log_average = weight * log_factor + (1.0 - weight) * state.log_average
    return state._replace(log_factor=log_factor, log_average=log_average, error=error, searched=t)


def _add(spread: Spread, position: Tree) -> Spread:
    """One position more."""
    n = spread.seen + 1.0
    mean = map_like(lambda mean, q: mean + (q - mean) / n, spread.mean, position)
    squares = map_like(
        lambda total, q, before, after: total + (q - before) * (q - after),
        spread.squares,
        position,
        spread.mean,
        mean,
    )
    return spread._replace(seen=n, mean=mean, squares=squares)


def _restart(state: AdaptationState) -> AdaptationState:
    """A mass from the window that ended, and a new search for the step size that goes with it."""
    spread = state.spread
    assert spread is not None
    n = spread.seen

    def blend(old: Array, squares: Array) -> Array:
        # On the log scale, so that units do not matter; what did not move keeps its mass.
        variance = jnp.where(squares > 0.0, squares / jnp.maximum(n - 1.0, 1.0), old)
        share = n / (n + SHRINKAGE)
        return jnp.exp(share * jnp.log(variance) + (1.0 - share) * jnp.log(old))

    variance = map_like(blend, spread.variance, spread.squares)
    # The stiffest direction keeps its share of the step.
    ratios = jax.tree.map(lambda old, new: jnp.max(old / new), spread.variance, variance)
    ratios = jnp.stack([ratio.astype(n.dtype) for ratio in jax.tree.leaves(ratios)])
    log_factor = state.log_average + 0.5 * jnp.log(jnp.max(ratios))
    nothing, zero = jax.tree.map(jnp.zeros_like, spread.mean), jnp.zeros_like(n)
    return AdaptationState(
        log_factor=log_factor,
        log_average=log_factor,
        centre=log_factor + np.log(10.0).astype(n.dtype),
        error=zero,
        searched=zero,
        spread=Spread(variance, zero, nothing, nothing),
    )
