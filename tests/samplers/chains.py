"""Many independent chains at once: one vector position whose coordinates are the chains."""

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from tests.helpers.quick_jit import long_jit

from pxsgmcmc.types import Sampler


def last_states(
    build: Callable[..., tuple[Sampler, Any]],
    cases: Mapping[str, np.ndarray],
    *,
    chains: int,
    steps: int,
    stream: int = 0,
) -> Callable[[int], Any]:
    """A compiled function from a seed to the last states of every case, (cases, chains) each.

    The energy of a chain is lam q^2 / 2 + noise q with fresh noise of variance v at each step: the
    gradient is that of lam q^2 / 2 with noise on it. All cases of a run are driven by the same
    normals, which makes hundreds of cases cheap: their z-scores are each exact, but not independent
    of one another.

    Args:
      build: called with a potential, the number of chains and one case; returns a sampler and
        the state to start from.
      cases: `lam`, `v` and whatever else `build` needs, each of shape (cases,).
      chains: coordinates of the position.
      steps: transitions; the caller sees to it that the start is forgotten.
      stream: runs of different streams share no normals.
    """

    def run(key, case):
        lam, v = case["lam"], case["v"]

        def potential(q, batch):
            return jnp.sum(lam * q**2 / 2 + jnp.sqrt(v) * batch * q)

        sampler, state = build(potential, chains, case)

        def transition(t, state):
            noise_key, batch_key = jax.random.split(jax.random.fold_in(key, t))
            batch = jax.random.normal(batch_key, (chains,))
            return sampler.step(noise_key, state, batch)[0]

        return jax.lax.fori_loop(0, steps, transition, state)

    compiled = long_jit(jax.vmap(run, in_axes=(None, 0)))
    arrays = {name: jnp.asarray(column, jnp.float32) for name, column in cases.items()}

    def simulate(seed: int) -> Any:
        key = jax.random.fold_in(jax.random.key(seed), stream)
        return jax.tree.map(np.asarray, compiled(key, arrays))

    return simulate


def grid(**axes: list[float]) -> dict[str, np.ndarray]:
    """Every combination of the values, one flat array per name."""
    names = list(axes)
    columns = np.meshgrid(*axes.values(), indexing="ij")
    return {name: column.ravel() for name, column in zip(names, columns, strict=True)}


def skeleton_builder() -> Callable[..., Sampler]:
    """The file that CONTRIBUTING tells people to copy keeps the contract too."""
    path = Path(__file__).parents[2] / "examples" / "skeleton_sampler.py"
    spec = importlib.util.spec_from_file_location("skeleton_sampler", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.skeleton
