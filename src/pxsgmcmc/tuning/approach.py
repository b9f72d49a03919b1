"""From a warm start to where the chains will be, and the settings that are honest there.

Near a mode nothing has spread out yet, and curvature and gradient noise are others than along the
chain. So the settings that are honest at the start are taken with caution for some steps, and those
that are honest where these end are for the run.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.scipy.special import logsumexp

from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.chain.execution import Execution
from pxsgmcmc.chain.sampling import Sampling
from pxsgmcmc.chain.start import run_sampling
from pxsgmcmc.expansion.position import groups
from pxsgmcmc.health import WARM
from pxsgmcmc.posterior import PosteriorPotential
from pxsgmcmc.problem import Problem, Rows
from pxsgmcmc.progress import Silent
from pxsgmcmc.run import Run
from pxsgmcmc.run.health import evidence_on
from pxsgmcmc.samplers import sghmc
from pxsgmcmc.tuning.pilot import pilot
from pxsgmcmc.tuning.recommend import Recommendation
from pxsgmcmc.tuning.settle import CAUTION
from pxsgmcmc.types import Sampler, Tree

LOOKS = 10  # positions that are kept on the way, to be scored on the validation rows
MEASURED = 2  # positions at which curvature and noise are taken


@dataclass(frozen=True)
class Approach:
    """Where chains are after some cautious steps, and how to go on.

    Attributes:
      positions: of the chains.
      recommendation: step size and friction that are honest there.
      run: of the cautious steps.
      step_seconds: that a step of all chains together takes.
      other_seconds: that the steps took besides, most of it to compile them.
      healthy: whether the temperatures of the cautious steps were right.
    """

    positions: Sequence[Tree]
    recommendation: Recommendation
    run: Run
    step_seconds: float
    other_seconds: float
    healthy: bool


def approach(
    potential: PosteriorPotential,
    starts: Sequence[Tree],
    *,
    batch_size: int,
    steps: int,
    seed: int,
    rows: int = 1000,
) -> Approach:
    """Measure, take some steps with caution, measure again.

    Args:
      potential: energy of the chains, which knows its problem.
      starts: of the chains, near a mode.
      batch_size: rows a step sees.
      steps: of each chain, at least 20.
      seed: of noise, batches and measurements.
      rows: over which curvatures are taken at most.
    """
    assert potential.problem is not None
    look: dict[str, Any] = {"batch_size": batch_size, "rows": rows, "seed": seed}
    first = pilot(potential, starts[0], **look).recommend("sghmc")
    sampling = sampling_with(
        potential,
        first,
        starts,
        collection=Collection(LOOKS, max(1, steps // (2 * LOOKS)), burn_in=steps // 2),
        batch_size=batch_size,
        seed=seed,
        caution=CAUTION,
    )
    began = time.monotonic()
    run = run_sampling(sampling, None, resume=False, progress=Silent())
    seconds, each = time.monotonic() - began, _step_seconds(run)
    positions = [state.position for state in run.last_states()]
    measured = pilot(potential, positions[0], more_positions=positions[1:MEASURED], **look)
    found = measured.recommend("sghmc")
    evidence = evidence_on(run)
    warm = any(heat.off(WARM) for heat in evidence.kinetic.values())
    other = max(0.0, seconds - each * sampling.collection.total_steps)
    return Approach(positions, found, run, each, other, not warm and not evidence.setbacks)


def sampling_with(
    potential: PosteriorPotential,
    found: Recommendation,
    starts: Sequence[Tree],
    *,
    collection: Collection,
    batch_size: int,
    seed: int,
    caution: float = 1.0,
) -> Sampling:
    """Chains with the settings that were found, set back if they diverge.

    Args:
      potential: energy of the chains, which knows its problem.
      found: step size and friction.
      starts: of the chains.
      collection: which steps are kept.
      batch_size: rows a step sees.
      seed: of noise and batches.
      caution: factor on the step size.
    """
    problem = potential.problem
    assert problem is not None
    friction = groups(starts[0], **{"base": 0.0, "factors": 0.0, **found.friction})

    def build(factor: float) -> Sampler:
        return sghmc(potential, factor * caution * found.step_size, friction=friction)

    return Sampling(
        build=build,
        start=lambda chain: starts[chain],
        problem=problem,
        data=tuple(problem.train),
        collection=collection,
        batch_size=batch_size,
        seed=seed,
        chains=tuple(range(len(starts))),
        execution=Execution(on_divergence="retry"),
    )


def held_out_loss(problem: Problem, run: Run, rows: Rows) -> float:
    """Minus the mean log probability of rows under the average of the draws of a run."""
    log_likelihood = jax.jit(problem.log_likelihood)
    each = np.stack([np.asarray(log_likelihood(draw, tuple(rows))) for draw in run])
    mixed = np.asarray(logsumexp(each, axis=0)) - math.log(len(each))
    loss = -float(np.mean(mixed, dtype=np.float64))
    return loss if math.isfinite(loss) else math.inf


def _step_seconds(run: Run) -> float:
    """Of a step of all chains; chains that ran one after the other add up."""
    last = {line["chain"]: line["steps_per_second"] for line in run.log}
    seconds = [1.0 / speed for speed in last.values() if speed]
    if not seconds:
        return 0.0
    return max(seconds) if run.origin["executor"] == "scan" else sum(seconds)
