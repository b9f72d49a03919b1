"""The words shared by all rooms: arrays, trees, and the contract every sampler keeps."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax

Array: TypeAlias = jax.Array
Key: TypeAlias = jax.Array  # a typed key, `jax.random.key(...)`
Tree: TypeAlias = Any  # any pytree of arrays
Batch: TypeAlias = Any  # any pytree of arrays whose leading axis counts data
Schedule: TypeAlias = Callable[[Any], Any]  # step -> value, as in optax
Potential: TypeAlias = Callable[
    [Tree, Batch], Array
]  # (position, batch) -> energy, full-data units


class StepInfo(NamedTuple):
    """What every step reports."""

    energy: Array  # () U(position; batch) where the gradient was taken
    step_size: Array  # ()


class MetropolisInfo(NamedTuple):
    """What a step with an accept-reject test reports."""

    energy: Array  # () at the state that was kept
    step_size: Array  # ()
    acceptance: Array  # () probability of accepting, NaN on a step without a test
    accepted: Array  # () bool, True on a step without a test


class Sampler(NamedTuple):
    """`init(position) -> state` and `step(key, state, batch) -> (state, info)`, both pure.

    Every state has `.step`, the number of transitions taken, and `.position`.
    Every info has `.energy` and `.step_size`.
    """

    init: Callable[[Tree], Any]
    step: Callable[[Key, Any, Batch], tuple[Any, Any]]
