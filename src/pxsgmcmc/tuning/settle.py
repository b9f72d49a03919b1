"""From a start to where chains will be, without settings: measure, move, measure again.

Weights at their start have curvatures and gradient noise that those of a posterior do not have;
factors that start at the identity grow until the network is many times stiffer. Each stretch is as
long as all before it, up to an eighth of the whole, at half of the step that was honest where it
began.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pxsgmcmc.errors import Diverged, UserError, check_count
from pxsgmcmc.health import Heat
from pxsgmcmc.tuning.flat_energy import FlatEnergy
from pxsgmcmc.tuning.host_chain import HostChain
from pxsgmcmc.tuning.measure import measure
from pxsgmcmc.tuning.recommend import Recommendation, recommend
from pxsgmcmc.types import Batch, Tree

FIRST = 25  # steps of the first stretch
CAUTION = 0.5  # share of the honest step
ATTEMPTS = 6  # at a stretch, each with half of the step before


class Settled(NamedTuple):
    """Where cautious chains led."""

    positions: list[Tree]  # of each chain, at the end
    visited: list[Tree]  # by the chains at which was measured, in the second half; the last first
    heat: list[dict[str, Heat]]  # of each chain, by group, over the last stretch
    step_seconds: float  # that a step of one chain took


def settle(
    energy: FlatEnergy,
    starts: Sequence[Tree],
    data: Batch,
    *,
    batch_size: int,
    steps: int,
    rows: int | None = None,
    temperature: float = 1.0,
    seed: int = 0,
    transform_batch: Callable[[Any, Batch], Batch] | None = None,
) -> Settled:
    """Take the steps of cautious SGHMC chains.

    Args:
      energy: of the chains, around any position of theirs.
      starts: of the chains.
      data: a tree of arrays whose leading axis counts rows.
      batch_size: rows a step sees.
      steps: of each chain.
      rows: over which curvatures are taken at most; twice a batch unless given.
      temperature: of the sampler, above 0.
      seed: of noise and batches.
      transform_batch: applied to each batch, with a key.

    Example:
      >>> import jax.numpy as jnp, numpy as np
      >>> def U(q, y):
      ...     return 4 * jnp.mean((y - q) ** 2)
      >>> q = jnp.full((), 30.0)
      >>> far = settle(FlatEnergy(U, q), [q], np.zeros(8, np.float32), batch_size=2, steps=200)
      >>> bool(abs(far.positions[0]) < 10.0)
      True
    """
    check_count("steps", steps, at_least=0)
    shared: dict[str, Any] = {"batch_size": batch_size, "transform_batch": transform_batch}
    chains = [
        HostChain(
            energy.at(start), data, temperature=temperature, seed=seed, number=number, **shared
        )
        for number, start in enumerate(starts)
    ]
    taken, looks, visited, heat = 0, 0, [chains[0].tree], list[dict[str, Heat]]()
    while taken < steps:
        stretch = min(max(FIRST, taken), max(FIRST, steps // 8), steps - taken)
        # A rough look at few rows: the step is cautious, and there will be another look soon.
        seen = measure(
            energy.at(chains[looks % len(chains)].tree),
            data,
            rows=2 * batch_size if rows is None else rows,
            batches=8,
            per_layer=False,
            seed=seed,
            **shared,
        )
        best = recommend(seen, "sghmc", temperature=temperature)
        heat = [_advance(chain, stretch, best) for chain in chains]
        taken, looks = taken + stretch, looks + 1
        there = chains[looks % len(chains)].tree
        visited = [there, *(visited if 2 * taken > steps + stretch else [])]
    seconds = sum(chain.seconds for chain in chains) / max(1, sum(chain.taken for chain in chains))
    return Settled([chain.tree for chain in chains], visited, heat, seconds)


def _advance(chain: HostChain, steps: int, best: Recommendation) -> dict[str, Heat]:
    """With half of the honest step, or less if that diverges."""
    h = CAUTION * best.step_size
    for _ in range(ATTEMPTS):
        try:
            return chain.advance(steps, step_size=h, friction=best.friction)
        except Diverged:
            h *= 0.5
    raise UserError(
        "`position` must be one that a chain can leave, got one from which steps of "
        f"{2 * h:.2g} diverge; start from smaller weights."
    )
