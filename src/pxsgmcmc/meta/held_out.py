"""How good a sampler's weights are on tasks that they were not trained on."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.meta.evolution import losses_of
from pxsgmcmc.meta.settings import MetaSettings
from pxsgmcmc.meta.tasks import Task, families, family_data
from pxsgmcmc.types import Tree


class Mean(NamedTuple):
    """A mean over tasks with its standard error."""

    value: float
    error: float
    tasks: int  # that came to an end


def held_out_losses(
    settings: MetaSettings,
    weights: Tree,
    tasks: Sequence[Task],
    tell: Callable[[str], Any] = str,
) -> dict[str, list[float]]:
    """Meta-losses of each task from `settings.repeats` starts, which are always the same ones."""
    by_task = {}
    root = jax.random.fold_in(jax.random.key(settings.seed), 2)
    for number, task in enumerate(tasks):
        tell(task.label)
        (family,) = families([task])
        rows, _ = family_data(family)
        keys = jax.random.split(jax.random.fold_in(root, number), settings.repeats)
        same = jax.tree.map(lambda w: jnp.stack([w] * settings.repeats), weights)
        residual = jnp.full(settings.repeats, float(task.residual))
        losses = losses_of(
            settings, family, same, keys, rows, jnp.zeros(settings.repeats, jnp.int32), residual
        )
        by_task[task.label] = [float(loss) for loss in losses]
    return by_task


def mean_over_tasks(losses: dict[str, list[float]]) -> Mean:
    """Mean over tasks of the mean over starts; unrolls that diverged are left out.

    Example:
      >>> mean_over_tasks({"a": [1.0, 3.0], "b": [4.0, float("nan")]})
      Mean(value=3.0, error=1.0, tasks=2)
    """
    finite = [[x for x in own if np.isfinite(x)] for own in losses.values()]
    means = np.array([np.mean(own) for own in finite if own])
    if not len(means):
        return Mean(float("nan"), float("nan"), 0)
    error = float(np.std(means, ddof=1) / np.sqrt(len(means))) if len(means) > 1 else float("nan")
    return Mean(float(np.mean(means)), error, len(means))


def mean_difference(after: dict[str, list[float]], before: dict[str, list[float]]) -> Mean:
    """Mean over tasks of what changed, start by start; its error is that of paired numbers.

    Example:
      >>> mean_difference({"a": [1.0], "b": [2.0]}, {"a": [2.0], "b": [5.0]})
      Mean(value=-2.0, error=1.0, tasks=2)
    """
    changes = {
        name: [x - y for x, y in zip(own, before[name], strict=True)] for name, own in after.items()
    }
    return mean_over_tasks(changes)
