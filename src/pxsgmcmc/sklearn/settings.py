"""From starts to settings: move with caution, look at the curvature, move on."""

from collections.abc import Sequence
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

STRETCHES = (1, 2, 4)  # times the longest cycle: steps between looks, each with caution
CAUTION = 0.5  # share of the honest step
SAFETY = 1.0 / 3.0  # share of the stability limit: curvatures elsewhere are not those measured
SHORTEST, LONGEST = 10, 200  # steps between draws; few rows have a wide posterior, soon forgotten
ROWS_A_STEP = 4  # the longest cycle has a step for so many rows
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


def longest_cycle(rows: int) -> int:
    """Steps between draws at most.

    Example:
      >>> longest_cycle(20), longest_cycle(400), longest_cycle(5000)
      (10, 100, 200)
    """
    return min(LONGEST, max(SHORTEST, rows // ROWS_A_STEP))


def find_settings(stepper: Stepper, positions: Tree) -> tuple[Any, Settings, int]:
    """States of the chains after some cautious steps, settings that are honest there, steps taken.

    Args:
      stepper: the program and its data.
      positions: starts of all chains, stacked.
    """
    flat = Flat(jax.tree.map(lambda x: x[0], positions))
    state = _at_rest(positions)
    taken = 0
    for stretch in (times * longest_cycle(stepper.count) for times in STRETCHES):
        vector = flat.vectors(state.position)[0]
        found = _without_noise(stepper, flat, [vector])
        state = _cautious(stepper, state, taken, stretch, found)
        taken += stretch
    vectors = flat.vectors(state.position)[: min(2, stepper.spec.chains)]
    if stepper.spec.batch or stepper.spec.sampler != "sghmc":
        return state, _with_noise(stepper, flat, vectors), taken
    return state, _without_noise(stepper, flat, vectors), taken


def _with_noise(stepper: Stepper, flat: Flat, vectors: Sequence[np.ndarray]) -> Settings:
    """What the laws recommend, gradient noise included."""
    seen = combine([measure_at(stepper, flat, vector) for vector in vectors])
    found = recommend(seen, stepper.spec.sampler)
    times = [time for pair in found.prediction.autocorrelation.values() for time in pair]
    memory = max((t for t in times if t < float("inf")), default=float(LONGEST))
    return Settings(found.step_size, dict(found.friction), memory, repr(found))


def _without_noise(stepper: Stepper, flat: Flat, vectors: Sequence[np.ndarray]) -> Settings:
    """A third of the stability limit, damped critically in the softest direction.

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
    h = SAFETY * sghmc_limit(largest, max(friction.values()))
    memory = max(sghmc_relaxation(max(c, 1e-6), h, friction[name]) for name, c in prior.items())
    text = f"SGHMC: step size {h:.3g}, a third of the stability limit at curvature {largest:.3g}"
    return Settings(h, friction, float(memory), text)


def _at_rest(positions: Tree) -> SGHMCState:
    chains = len(jax.tree.leaves(positions)[0])
    still = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), positions)
    return SGHMCState(np.zeros(chains, np.int32), positions, still)


def _cautious(stepper: Stepper, state: Any, first: int, count: int, found: Settings) -> SGHMCState:
    """So many steps, with half the step size again and again if they diverge."""
    before, h = jax.tree.map(np.asarray, state), CAUTION * found.step_size
    friction = dict(found.friction)
    for _ in range(ATTEMPTS):
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
