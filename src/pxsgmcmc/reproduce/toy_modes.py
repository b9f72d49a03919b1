"""How many of 25 modes a reading of the paper's toy covers, for one seed."""

import numpy as np

from pxsgmcmc.reproduce.computing import Computed

STARTS = ((0.0, 0.0), (2.0, 2.0), (4.0, 4.0))
_SCORES = ("accepted", "covered", "seen", "distance", "switches", "mean_square")


def cover(*, seed: int, reading: str, draws: int = 10_000) -> Computed:
    """Scores of one reading, averaged over three starts: 10 leapfrog steps of 0.05, as published.

    Args:
      seed: of the momenta.
      reading: the name of a method of `mixture25.methods`, or "independent" draws.
      draws: HMC iterations of each chain.
    """
    from pxsgmcmc.reproduce import mixture25

    if reading == "independent":
        made = mixture25.reference(seeds=seed + 1, draws=draws)
        numbers = made.numbers[:, -1]
    else:
        methods = mixture25.methods(0.05, 10, 2.0)
        method = next(method for method in methods if method.name == reading)
        numbers = mixture25.run(method, STARTS, seeds=1, draws=draws, first_seed=seed).numbers[:, 0]
    means = np.asarray(numbers, float).mean(axis=0)
    values = {f"modes/{name}": float(v) for name, v in zip(_SCORES, means, strict=True)}
    return Computed({name: v for name, v in values.items() if np.isfinite(v)})
