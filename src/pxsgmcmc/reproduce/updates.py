"""The first updates of a chain at the paper's size, followed one by one."""

import os
import sys
import time
from typing import Any

import numpy as np

from pxsgmcmc.reproduce.computing import Computed
from pxsgmcmc.reproduce.methods import METHODS
from pxsgmcmc.reproduce.scale import scale_named
from pxsgmcmc.reproduce.settings_file import read_settings

_LAST = 100  # updates over which kinetic temperatures are averaged
_TOLD = 50  # updates from one line of progress to the next


def follow(
    *, seed: int, method: str, updates: int, scale: str = "paper", threads: int = 2
) -> Computed:
    """Energies by part, averaged over the updates, and where the chain is after them.

    Batches and noise are those that `pxsgmcmc run` would take with this seed.

    Args:
      seed: of everything random.
      method: whose settings are taken.
      updates: how many.
      scale: whose network, data and settings.
      threads: of XLA.
    """
    os.environ["PJRT_NPROC"] = str(threads)
    import jax
    import jax.numpy as jnp

    from pxsgmcmc.chain.batches import Batches
    from pxsgmcmc.config.build import build
    from pxsgmcmc.expansion import collapse
    from pxsgmcmc.expansion.position import Expanded
    from pxsgmcmc.rng import streams
    from pxsgmcmc.tree import size

    settings: dict[str, Any] = {**METHODS[method].settings, "seed": seed}
    settings |= read_settings(scale)[method].settings
    built = build(scale_named(scale).config(settings))
    problem, sampler, keys = built.problem, built.sampler(1.0), streams(seed)
    x, y = problem.train
    batches = Batches(keys.batches, data_size=len(x), batch_size=built.config.chain.batch_size)

    def squares(tree: Any) -> Any:
        return sum((jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)), start=jnp.zeros(()))

    def parts(position: Any) -> tuple[Any, Any, Any]:
        """Energies of the prior and of the factor prior, and half the squares of the factors."""
        factors = position.factors if isinstance(position, Expanded) else ()
        prior, factor_prior = built.potential._priors(position)
        return prior, factor_prior, squares(factors) / 2.0

    @jax.jit
    def update(state: Any, batch: Any) -> tuple[Any, Any]:
        prior, factor_prior, half = parts(state.position)
        state, info = sampler.step(jax.random.fold_in(keys.noise, state.step), state, batch)
        likelihood = info.energy - prior - factor_prior
        momentum = state.momentum
        base, factors = momentum, ()
        if isinstance(momentum, Expanded):
            base, factors = momentum.base, momentum.factors
        heat = squares(base) / size(base), squares(factors) / max(1, size(factors))
        return state, (likelihood, prior, half, *heat)

    state = sampler.init(built.position(0))
    followed, began = [], time.monotonic()
    for step in range(updates):
        if step and step % _TOLD == 0:
            left = (time.monotonic() - began) / step * (updates - step) / 60.0
            print(f"  {step:,} of {updates:,} updates, {left:.0f} min left", file=sys.stderr)
        rows = batches.rows(step, 1)[0]
        state, numbers = update(state, (jnp.asarray(x[rows]), jnp.asarray(y[rows])))
        followed.append(jax.device_get(numbers))
    table = np.asarray(followed, np.float64)  # (updates, 5)
    means, late = table.mean(axis=0), table[-_LAST:].mean(axis=0)
    params = jax.jit(collapse)(state.position)
    values = {
        "first/minus_log_likelihood": means[0],
        "first/minus_log_prior": means[1],
        "first/half_squared_factors": means[2],
        "first/merged_norm": float(jnp.sqrt(squares(params))),
        "first/kinetic_base": late[3],
        "first/kinetic_factors": late[4],
    }
    for name, split in (("train", problem.train), ("validation", problem.validation)):
        err, nll = _judged(problem, params, split)
        values |= {f"first/{name}_err": err, f"first/{name}_nll": nll}
    every = max(1, updates // 100)
    curves: dict[str, list[float | None]] = {
        "first/minus_log_likelihood": [float(v) for v in table[::every, 0]]
    }
    values = {name: float(value) for name, value in values.items()}
    return Computed(values, curves, {"train": problem.sha256})


def _judged(problem: Any, params: Any, split: Any) -> tuple[float, float]:
    """Error and NLL of one draw."""
    import jax

    from pxsgmcmc.predict import Forward

    forward = Forward(problem.distribution)
    log_p, hits, count = 0.0, 0, len(split.x)
    for first in range(0, count, 500):
        logits = np.asarray(forward(params, split.x[first : first + 500]))
        rows = split.y[first : first + 500]
        normalised = np.asarray(jax.nn.log_softmax(logits))
        log_p += float(normalised[np.arange(len(rows)), rows].sum())
        hits += int((logits.argmax(axis=1) == rows).sum())
    return 1.0 - hits / count, -log_p / count
