"""From a start to where chains will be, without settings: measure, move, measure again.

Weights at their start have curvatures and gradient noise that those of a posterior do not have;
factors that start at the identity grow until the network is many times stiffer. Each stretch is as
long as all before it, up to a share of the whole.

Its step begins bold, at twice the honest one, which is two thirds of the stability limit: small
steps creep along ravines that a chain at its own step never enters, and would measure these (a
residual network on digits: curvatures of 5e5 on the way of steps of 2e-4, of 3e4 on that of 4e-3).
A stretch that gets hot makes the next more cautious, down to half of the honest step.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from pxsgmcmc.errors import Diverged, UserError, check_count
from pxsgmcmc.health import Heat
from pxsgmcmc.tuning.flat_energy import FlatEnergy
from pxsgmcmc.tuning.host_chain import HostChain
from pxsgmcmc.tuning.measure import measure
from pxsgmcmc.tuning.recommend import Recommendation, recommend
from pxsgmcmc.types import Batch, Tree

FIRST = 25  # steps of the first stretch
BOLD, CAUTIOUS = 2.0, 0.5  # times the honest step: at first, and at least
WARM = 1.2  # times its temperature, by which a group asks for more caution
ATTEMPTS = 6  # at a stretch, each with half of the step before
HOTTEST = 2.0  # times its temperature: the network grows stiffer faster than it is looked at
LOOKS = 8  # the whole is at least so many stretches, where a measurement costs little beside them
ROUGH = 0.1  # residual of Lanczos' method: the curvature itself is then within about a percent


class Settled(NamedTuple):
    """Where a cautious chain led."""

    visited: list[Tree]  # where was measured in the second half, the last first
    stiffest: Tree  # of all positions at which was measured
    curvatures: list[float]  # the largest at each of them, first to last


def settle(
    energy: FlatEnergy,
    start: Tree,
    data: Batch,
    *,
    batch_size: int,
    steps: int,
    rows: int | None = None,
    temperature: float = 1.0,
    seed: int = 0,
    looks: int = LOOKS,
    transform_batch: Callable[[Any, Batch], Batch] | None = None,
) -> Settled:
    """Take the steps of an SGHMC chain that looks where it goes.

    Args:
      energy: of the chain, around any position of its.
      start: of the chain.
      data: a tree of arrays whose leading axis counts rows.
      batch_size: rows a step sees.
      steps: of the chain.
      rows: over which curvatures are taken at most; twice a batch unless given.
      temperature: of the sampler, above 0.
      seed: of noise and batches.
      looks: a stretch is at most this part of the whole, unless it is the first.
      transform_batch: applied to each batch, with a key.

    Example:
      >>> import jax.numpy as jnp, numpy as np
      >>> def U(q, y):
      ...     return 4 * jnp.mean((y - q) ** 2)
      >>> q = jnp.full((), 30.0)
      >>> far = settle(FlatEnergy(U, q), q, np.zeros(8, np.float32), batch_size=2, steps=200)
      >>> bool(abs(far.visited[0]) < 10.0)
      True
    """
    check_count("steps", steps, at_least=0)
    shared: dict[str, Any] = {"batch_size": batch_size, "transform_batch": transform_batch}
    chain = HostChain(energy.at(start), data, temperature=temperature, seed=seed, **shared)
    h, boldness, curvatures, stiffest = math.inf, BOLD, list[float](), start
    visited, hottest = [start], math.inf
    while chain.taken < steps:
        taken = chain.taken
        stretch = min(max(FIRST, taken), max(FIRST, steps // looks), steps - taken)
        # A rough look at few rows: the step is cautious, and there will be another look soon.
        seen = measure(
            energy.at(chain.tree),
            data,
            rows=2 * batch_size if rows is None else rows,
            batches=8,
            per_layer=False,
            seed=seed,
            residual=ROUGH,
            **shared,
        )
        if seen.largest >= max(curvatures, default=-math.inf):
            stiffest = chain.tree
        curvatures.append(seen.largest)
        best = recommend(seen, "sghmc", temperature=temperature)
        # One position may be flat beside the next: the step does not grow faster than twofold.
        heat, h = _advance(chain, stretch, min(boldness * best.step_size, 2.0 * h), best, hottest)
        if any(one.value > (WARM + one.chance) * one.expected for one in heat.values()):
            boldness = max(CAUTIOUS, boldness / 2.0)
        # What comes down from far away is hot at any step, but mostly cooler from look to look.
        hottest = max(HOTTEST, *(one.value / one.expected for one in heat.values()))
        visited = [chain.tree, *(visited if 2 * chain.taken > steps + stretch else [])]
    return Settled(visited, stiffest, curvatures)


def _advance(
    chain: HostChain, steps: int, h: float, best: Recommendation, hottest: float
) -> tuple[dict[str, Heat], float]:
    """With a step h, or less if that diverges or heats up: the heat, and the step it took.

    What is hot at the smallest step as well comes down from far away, and may.
    """
    for left in reversed(range(ATTEMPTS)):
        hottest = hottest if left else math.inf
        try:
            return chain.advance(steps, step_size=h, friction=best.friction, hottest=hottest), h
        except Diverged:
            h *= 0.5
    raise UserError(
        "`position` must be one that a chain can leave, got one from which steps of "
        f"{2 * h:.2g} diverge; start from smaller weights."
    )
