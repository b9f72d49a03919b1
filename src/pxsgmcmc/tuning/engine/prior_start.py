"""A start as large as the posterior will be: a draw of the default prior, factors included.

Weights that an optimiser leaves are smaller than those of the posterior wherever the data say
little, and factors that begin at the identity have yet to leave it. A chain whose steps are dear
would spend all its time growing. The last layer alone begins at zero: all classes are as likely
then, and no row is surprising; as drawn, its outputs are in the tens, and falling from the energies
that rows have there takes hundreds of steps. The data decide it first of all.
"""

from dataclasses import replace
from typing import Any

import jax
import numpy as np

from pxsgmcmc.expansion import Expanded
from pxsgmcmc.problem import Problem
from pxsgmcmc.tuning.engine.programs import FACTOR_VARIANCE
from pxsgmcmc.types import Key, Tree


def drawn_from_prior(problem: Problem, prior: Any, like: Tree, key: Key) -> Tree:
    """A position drawn from the prior, but for the last layer and what is the likelihood's own.

    Args:
      problem: whose network it is.
      prior: the default one, on the weights.
      like: a position of that shape, with factors at the identity.
      key: of the draw.
    """
    rng = np.random.default_rng(np.asarray(jax.random.bits(key, (4,))))

    def drawn(at: Any, variance: Any, leaf: Any) -> np.ndarray:
        spread = np.sqrt(variance) * rng.standard_normal(leaf.shape)
        return np.asarray(at + spread, leaf.dtype)

    base = like.base if isinstance(like, Expanded) else like
    network, _ = problem.split(base)
    variances = replace(prior, last=0.0).variances(network)
    network = jax.tree.map(lambda v, x: drawn(0.0, v, x), variances, network)
    base = jax.tree.map(np.asarray, problem.start(network))
    if not isinstance(like, Expanded):
        return base
    factors = jax.tree.map(lambda x: drawn(x, FACTOR_VARIANCE, x), like.factors)
    return replace(like, base=base, factors=factors)
