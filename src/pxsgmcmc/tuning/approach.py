"""From a warm start to where the chains will be, and the settings that are honest there.

Near a mode nothing has spread out yet, and curvature and gradient noise are others than along the
chain. So the settings that are honest at the start are taken with caution for some steps, and those
that are honest where these end are for the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.chain.execution import Execution
from pxsgmcmc.chain.sampling import Sampling
from pxsgmcmc.expansion.position import groups
from pxsgmcmc.health import WARM, Heat
from pxsgmcmc.posterior import PosteriorPotential
from pxsgmcmc.samplers import sghmc
from pxsgmcmc.tuning.flat_energy import FlatEnergy
from pxsgmcmc.tuning.pilot import pilot_along
from pxsgmcmc.tuning.recommend import Recommendation
from pxsgmcmc.tuning.settle import LOOKS, settle
from pxsgmcmc.types import Sampler, Tree

MEASURED = 3  # positions at which curvature and noise are taken
ROWS = 1000  # over which curvatures are taken at most
FEW_LOOKS = 2  # where a gradient takes long: two positions, and stretches of half of the whole


@dataclass(frozen=True)
class Approach:
    """Where chains are after some cautious steps, and how to go on.

    Attributes:
      positions: of the chains.
      recommendation: step size and friction that are honest there.
      step_seconds: that a step of one chain takes.
      healthy: whether the temperatures of the cautious steps were right.
    """

    positions: Sequence[Tree]
    recommendation: Recommendation
    step_seconds: float
    healthy: bool


def approach(
    energy: FlatEnergy,
    starts: Sequence[Tree],
    *,
    batch_size: int,
    steps: int,
    seed: int,
    slow: bool = False,
) -> Approach:
    """Measure, take some steps with caution, measure again.

    Args:
      energy: of the chains, whose potential knows its problem.
      starts: of the chains, near a mode.
      batch_size: rows a step sees.
      steps: of each chain.
      seed: of noise, batches and measurements.
      slow: a gradient takes long, so that fewer are spent on measurements.
    """
    problem = _problem(energy)
    rows = batch_size if slow else ROWS
    look: dict[str, Any] = {"batch_size": batch_size, "rows": rows, "seed": seed}
    if problem.augment is not None:
        look["transform_batch"] = problem.transform_batch
    data = tuple(problem.train)
    looks = FEW_LOOKS if slow else LOOKS
    there = settle(energy, starts, data, steps=steps, looks=looks, **look)
    measured = pilot_along(energy, there.visited[: min(looks, MEASURED)], data, **look)
    right = all(_is_right([heat[name] for heat in there.heat]) for name in energy.groups)
    return Approach(there.positions, measured.recommend("sghmc"), there.step_seconds, right)


def sampling_with(
    potential: PosteriorPotential,
    found: Recommendation,
    starts: Sequence[Tree],
    *,
    collection: Collection,
    batch_size: int,
    seed: int,
    execution: Execution,
) -> Sampling:
    """Chains with the settings that were found, set back if they diverge.

    Args:
      potential: energy of the chains, which knows its problem.
      found: step size and friction.
      starts: of the chains.
      collection: which steps are kept.
      batch_size: rows a step sees.
      seed: of noise and batches.
      execution: how steps are run.
    """
    problem = potential.problem
    assert problem is not None
    friction = groups(starts[0], **{"base": 0.0, "factors": 0.0, **found.friction})

    def build(factor: float) -> Sampler:
        return sghmc(potential, factor * found.step_size, friction=friction)

    return Sampling(
        build=build,
        start=lambda chain: starts[chain],
        problem=problem,
        data=tuple(problem.train),
        collection=collection,
        batch_size=batch_size,
        seed=seed,
        chains=tuple(range(len(starts))),
        execution=execution,
    )


def _problem(energy: FlatEnergy) -> Any:
    assert isinstance(energy.potential, PosteriorPotential)
    assert energy.potential.problem is not None
    return energy.potential.problem


def _is_right(heats: Sequence[Heat]) -> bool:
    """Whether a group of all chains together was at its temperature; nothing known is right."""
    if not heats:
        return True
    mean = float(np.mean([heat.value / heat.expected for heat in heats]))
    chance = float(np.mean([heat.chance for heat in heats])) / len(heats) ** 0.5
    return not Heat(mean, 1.0, chance).off(WARM)
