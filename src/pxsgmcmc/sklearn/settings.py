"""From starts to settings: move with caution, look at the curvature, move on."""

from typing import Any, NamedTuple

import jax
import numpy as np

from pxsgmcmc.errors import Diverged
from pxsgmcmc.samplers.sghmc import SGHMCState
from pxsgmcmc.sklearn.stepper import Flat, Stepper
from pxsgmcmc.sklearn.terrain import (
    LANCZOS,
    RESIDUAL,
    epoch_batches,
    hessian_at,
    measure_at,
    prior_curvatures,
)
from pxsgmcmc.tuning.combine import combine
from pxsgmcmc.tuning.correlation import sghmc_relaxation
from pxsgmcmc.tuning.curvature import lanczos, random_signs
from pxsgmcmc.tuning.laws import sghmc_limit
from pxsgmcmc.tuning.recommend import recommend
from pxsgmcmc.types import Tree

STRETCHES = (50, 50, 100, 200, 400)  # steps between looks at the curvature, each with caution
MORE_LOOKS, STEADY = 8, 0.2  # at most, until the honest step falls by no more than this share
CAUTION = 0.5  # share of the honest step
SAFETY = 1.0 / 3.0  # share of the stability limit: curvatures elsewhere are not those measured
SHORTEST, LONGEST = 20, 1000  # steps between draws
NOISE_SAFETY = 1.0 / 24.0  # the same with sampled noise: curvature grows as the noise shrinks
DAMPING = 0.2  # share of the momentum that a cautious step loses
ATTEMPTS = 6  # at a stretch, each with half of the step before


class Settings(NamedTuple):
    """How to go on from where the chains are.

    Attributes:
      step_size: constant.
      friction: by group; empty for SGLD.
      memory: steps in which the softest direction is forgotten.
      found: in a sentence.
    """

    step_size: float
    friction: dict[str, float]
    memory: float
    found: str


def find_settings(
    stepper: Stepper, positions: Tree, sampler: str
) -> tuple[SGHMCState, Settings, int]:
    """States of the chains after some cautious steps, settings that are honest there, steps taken.

    Args:
      stepper: a program of SGHMC and its data.
      positions: starts of all chains, stacked.
      sampler: that the settings are for.
    """
    flat = Flat(jax.tree.map(lambda x: x[0], positions))
    state = _at_rest(positions)
    taken, before = 0, 0.0
    for look, steps in enumerate((*STRETCHES, *[STRETCHES[-1]] * MORE_LOOKS)):
        found = _without_noise(stepper, flat, flat.vectors(state.position)[:2])
        if look >= len(STRETCHES) and found.step_size > (1.0 - STEADY) * before:
            break  # curvature has stopped growing
        before = found.step_size
        state = _cautious(stepper, state, taken, steps, found)
        taken += steps
    vectors = flat.vectors(state.position)[:4]
    if stepper.spec.batch or sampler != "sghmc":
        return state, _with_noise(stepper, flat, vectors, sampler), taken
    return state, _without_noise(stepper, flat, vectors), taken


def _with_noise(stepper: Stepper, flat: Flat, vectors: np.ndarray, sampler: str) -> Settings:
    """What the laws recommend, gradient noise included."""
    seen = combine([measure_at(stepper, flat, vector) for vector in vectors])
    found = recommend(seen, sampler)
    times = [time for pair in found.prediction.autocorrelation.values() for time in pair]
    memory = max((t for t in times if t < float("inf")), default=float(LONGEST))
    return Settings(found.step_size, dict(found.friction), memory, repr(found))


def _without_noise(stepper: Stepper, flat: Flat, vectors: np.ndarray) -> Settings:
    """A share of the stability limit, damped critically in the softest direction.

    Without gradient noise the laws ask for nothing else, and there is nothing to search for.
    """
    rng, largest = np.random.default_rng(0), 0.0
    prior = prior_curvatures(stepper, flat, vectors[0], rng)
    for vector in vectors:
        hessian = hessian_at(stepper, flat, vector, epoch_batches(stepper, rng))
        hessian.fit_stride(random_signs(rng, vector))
        signs = random_signs(rng, vector)
        found = lanczos(hessian.product, signs, steps=LANCZOS, tolerance=RESIDUAL)
        largest = max(largest, found.largest)
    friction = {name: 2.0 * float(np.sqrt(max(c, 1e-6))) for name, c in prior.items()}
    largest = max(largest, *prior.values())
    safety = NOISE_SAFETY if stepper.spec.likelihood.start() else SAFETY
    h = safety * sghmc_limit(largest, max(friction.values()))
    memory = max(sghmc_relaxation(max(c, 1e-6), h, friction[name]) for name, c in prior.items())
    text = (
        f"SGHMC: step size {h:.3g}, {safety:.2g} of the stability limit at curvature {largest:.3g}"
    )
    return Settings(h, friction, float(memory), text)


def _at_rest(positions: Tree) -> SGHMCState:
    chains = len(jax.tree.leaves(positions)[0])
    still = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), positions)
    return SGHMCState(np.zeros(chains, np.int32), positions, still)  # pyright: ignore


def _cautious(stepper: Stepper, state: Any, first: int, count: int, found: Settings) -> SGHMCState:
    """So many steps, with half the step size again and again if they diverge."""
    before, h = jax.tree.map(np.asarray, state), CAUTION * found.step_size
    for _ in range(ATTEMPTS):
        # What falls from a start to the posterior must not keep the speed: it would overshoot.
        friction = {name: max(g, DAMPING / h) for name, g in found.friction.items()}
        after, done = before, 0
        while done < count:
            part = min(count - done, stepper.most)
            after, _ = stepper.steps(after, first + done, part, h, friction)
            done += part
        after = jax.tree.map(np.asarray, after)
        if all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(after.position)):
            return after
        h *= 0.5
    raise Diverged(
        "No step size was found at which chains do not diverge: scale the inputs to about 1, or "
        "give a narrower `prior`."
    )
