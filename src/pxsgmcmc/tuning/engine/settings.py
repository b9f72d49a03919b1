"""From starts to settings: move with caution, look at the curvature, move on."""

import time
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from pxsgmcmc.chain.groups import by_group
from pxsgmcmc.errors import Diverged
from pxsgmcmc.samplers.sghmc import SGHMCState
from pxsgmcmc.tree import size
from pxsgmcmc.tuning.combine import combine
from pxsgmcmc.tuning.correlation import sghmc_relaxation
from pxsgmcmc.tuning.engine.programs import Settings
from pxsgmcmc.tuning.engine.stepper import Flat, Stepper
from pxsgmcmc.tuning.engine.terrain import (
    largest_curvature,
    measure_at,
    prior_curvatures,
    prior_masses,
)
from pxsgmcmc.tuning.laws import sghmc_limit
from pxsgmcmc.tuning.measure import Measurement
from pxsgmcmc.tuning.recommend import recommend
from pxsgmcmc.types import Tree

# Steps between the first looks at the curvature, and the share of the momentum that each loses:
# what falls from a start to the posterior must not keep the speed, it would overshoot.
FALLING = ((50, 0.2), (50, 0.2), (100, 0.1), (100, 0.05))
# After them chains move as they will in the end, each time for as many steps as they have taken,
# until the honest step falls by no more than this share: what grows slowly, such as curvature where
# noise is learned, seems to stand still over any stretch of a fixed length.
LOOKS, STEADY, LEAST = 5, 0.2, 1200  # looks at most, and steps before the last one at least
CAUTION = 0.5  # share of the honest step
SAFETY = 0.5  # share of the stability limit: curvatures elsewhere are not those measured
ATTEMPTS = 6  # at a stretch, each with half of the step before
HOT = 1.5  # kinetic temperature of a stretch from which it is tried again
LONGEST_MEMORY = 1000.0  # steps, where nothing holds any direction
MEASURED = 4  # positions at the end, at which settings are taken


class Found(NamedTuple):
    """How to go on from where the chains are.

    Attributes:
      settings: for the program.
      memory: steps in which the softest direction is forgotten.
      sentence: on how they were found.
    """

    settings: Settings
    memory: float
    sentence: str


def find_settings(
    stepper: Stepper, positions: Tree, sampler: str, ends: float
) -> tuple[SGHMCState, Found, int]:
    """States of the chains after some cautious steps, settings that are honest there, steps taken.

    Args:
      stepper: a program of SGHMC and its data, with masses of 1.
      positions: starts of all chains, stacked.
      sampler: that the settings are for.
      ends: when to have looked often enough, by the monotonic clock.
    """
    one = jax.tree.map(lambda x: x[0], positions)
    flat = Flat(one, stepper.masses)
    if sampler != "sgld":  # which has no masses
        masses = prior_masses(stepper, flat, flat.vectors(positions)[0])
        stepper, flat = replace(stepper, masses=masses), Flat(one, masses)
    state = at_rest(positions)
    taken, before = 0, 0.0
    for look in range(len(FALLING) + LOOKS):
        found = _without_noise(stepper, flat, flat.vectors(state.position)[:1])
        steps, damping = taken, 0.0
        if look < len(FALLING):
            steps, damping = FALLING[look]
        else:
            steady = taken >= LEAST and found.settings.step_size > (1.0 - STEADY) * before
            if steady or time.monotonic() > ends:
                break
        before = found.settings.step_size if look >= len(FALLING) else np.inf
        h, friction = CAUTION * found.settings.step_size, found.settings.friction
        state, _ = cautious(stepper, state, taken, steps, h, friction, damping)
        taken += steps
    vectors = flat.vectors(state.position)[:MEASURED]
    if stepper.spec.batch or sampler != "sghmc":
        seen = combine([measure_at(stepper, flat, vector) for vector in vectors])
        return state, recommended(stepper, seen, sampler), taken
    return state, _without_noise(stepper, flat, vectors), taken


def recommended(stepper: Stepper, seen: Measurement, sampler: str, **wanted: Any) -> Found:
    """What the laws recommend, gradient noise included; `wanted` is for `recommend`."""
    found = recommend(seen, sampler, **wanted)
    times = [time for pair in found.prediction.autocorrelation.values() for time in pair]
    memory = max((t for t in times if t < float("inf")), default=LONGEST_MEMORY)
    return Found(stepper.settings(found.step_size, dict(found.friction)), memory, repr(found))


def _without_noise(stepper: Stepper, flat: Flat, vectors: np.ndarray) -> Found:
    """A share of the stability limit, damped critically in the softest direction.

    Without gradient noise the laws ask for nothing else, and there is nothing to search for.
    """
    prior = prior_curvatures(stepper, flat, vectors[0])
    friction = {name: 2.0 * float(np.sqrt(max(c, 1e-6))) for name, c in prior.items()}
    largest = max(prior.values())
    largest = max(largest, *(largest_curvature(stepper, flat, vector) for vector in vectors))
    h = SAFETY * sghmc_limit(largest, max(friction.values()))
    memory = max(sghmc_relaxation(max(c, 1e-6), h, friction[name]) for name, c in prior.items())
    text = (
        f"SGHMC: step size {h:.3g}, {SAFETY:.2g} of the stability limit at curvature {largest:.3g}"
    )
    return Found(stepper.settings(h, friction), float(memory), text)


def at_rest(positions: Tree) -> SGHMCState:
    """States of chains that do not move yet."""
    chains = len(jax.tree.leaves(positions)[0])
    still = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), positions)
    return SGHMCState(np.zeros(chains, np.int32), positions, still)  # pyright: ignore


def cautious(
    stepper: Stepper,
    state: Any,
    first: int,
    count: int,
    h: float,
    friction: dict[str, float],
    damping: float = 0.0,
) -> tuple[SGHMCState, float]:
    """State after so many steps, and the mean energy; with half the step if they get hot, or less.

    A chain whose step is too long for the curvature it comes to need not diverge: with sampled
    noise it is thrown to where the noise is enormous and nothing is curved, and would be measured
    there.
    """
    before = jax.tree.map(np.asarray, state)
    after, finite, energy = before, False, 0.0
    sizes = {
        name: size(part) // stepper.spec.chains for name, part in by_group(before.position).items()
    }
    for _ in range(ATTEMPTS):
        damped = {name: max(g, damping / h) for name, g in friction.items()}
        after, done, energy = before, 0, 0.0
        heat: dict[str, Any] = dict.fromkeys(friction, 0.0)
        while done < count:
            part = min(count - done, stepper.most)
            after, sums = stepper.steps(after, first + done, part, h, damped)
            done += part
            energy += float(np.mean(sums.energy)) / count
            heat = {name: heat[name] + np.asarray(sums.temperature[name]) for name in friction}
        after = jax.tree.map(np.asarray, after)
        finite = all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(after.position))
        if finite and not any(_is_hot(heat[name] / count, sizes[name]) for name in friction):
            return after, energy
        h *= 0.5
    if finite:
        return after, energy  # hot, as the verdict will say if it does not cool down
    raise Diverged(
        "No step size was found at which chains do not diverge: scale the inputs to about 1, start "
        "from smaller weights, or give a narrower prior."
    )


def _is_hot(temperatures: np.ndarray, coordinates: int) -> bool:
    """Whether the kinetic temperature of some chain cannot be chance."""
    return bool(np.any(temperatures > HOT + 3.0 * np.sqrt(2.0 / max(1, coordinates))))
