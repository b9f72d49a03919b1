"""From a start to where a chain will be, without settings: measure, move, measure again.

Weights at their start have curvatures and gradient noise that those of a posterior do not have;
factors that start at the identity grow until the network is many times stiffer. Each stretch is as
long as all before it, up to an eighth of the whole, at half of the step that was honest where it
began.
"""

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.chain.batches import Batches
from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.expansion.position import groups
from pxsgmcmc.samplers import sghmc
from pxsgmcmc.tuning.measure import measure
from pxsgmcmc.tuning.recommend import recommend
from pxsgmcmc.types import Batch, Potential, Tree

FIRST = 25  # steps of the first stretch
CAUTION = 0.5  # share of the honest step
ATTEMPTS = 6  # at a stretch, each with half of the step before


def settle(
    potential: Potential,
    position: Tree,
    data: Batch,
    *,
    batch_size: int,
    steps: int,
    temperature: float = 1.0,
    seed: int = 0,
) -> list[Tree]:
    """Positions of the second half of a cautious SGHMC chain, the last one first.

    Args:
      potential: energy of (position, batch) in full-data units.
      position: to start from.
      data: a tree of arrays whose leading axis counts rows.
      batch_size: rows a step sees.
      steps: in all.
      temperature: of the sampler, above 0.
      seed: of noise and batches.

    Example:
      >>> def U(q, y):
      ...     return 4 * jnp.mean((y - q) ** 2)
      >>> far = settle(U, jnp.full((), 30.0), np.zeros(8, np.float32), batch_size=2, steps=200)
      >>> bool(abs(far[0]) < 10.0)
      True
    """
    check_count("steps", steps, at_least=0)
    data = jax.tree.map(jnp.asarray, data)
    size = len(jax.tree.leaves(data)[0])
    stream = Batches(jax.random.key(seed), data_size=size, batch_size=batch_size)
    noise = jax.random.fold_in(jax.random.key(seed), 1)

    @jax.jit
    def step(key, state, index, h, friction):
        sampler = sghmc(potential, lambda _: h, friction=friction, temperature=temperature)
        return sampler.step(key, state, jax.tree.map(lambda x: x[index], data))[0]

    init = sghmc(potential, 1.0, friction=1.0).init
    taken, visited = 0, [position]
    while taken < steps:
        stretch = min(max(FIRST, taken), max(FIRST, steps // 8), steps - taken)
        # A rough look at few rows: the step is cautious, and there will be another look soon.
        seen = measure(
            potential,
            position,
            data,
            batch_size=batch_size,
            rows=2 * batch_size,
            batches=8,
            per_layer=False,
            seed=seed,
        )
        best = recommend(seen, "sghmc", temperature=temperature)
        friction = groups(position, **{"base": 0.0, "factors": 0.0, **best.friction})
        h = CAUTION * best.step_size
        for _ in range(ATTEMPTS):
            state = init(position)
            for number, index in enumerate(stream.rows(taken, stretch), start=taken):
                key = jax.random.fold_in(noise, number)
                state = step(key, state, index, jnp.asarray(h, float), friction)
            if _is_finite(state):
                break
            h *= 0.5
        else:
            raise UserError(
                "`position` must be one that a chain can leave, got one from which steps of "
                f"{2 * h:.2g} diverge; start from smaller weights."
            )
        position, taken = state.position, taken + stretch
        visited = [position, *(visited if 2 * taken > steps + stretch else [])]
    return visited


def _is_finite(tree: Tree) -> bool:
    return all(bool(np.isfinite(leaf).all()) for leaf in jax.tree.leaves(tree))
