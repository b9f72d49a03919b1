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


class SamplerFacts(NamedTuple):
    """What a sampler was built with, for those who judge its chain.

    Attributes:
      name: as a table would print it, "SGHMC".
      potential: the energy it goes down.
      step_size: the schedule.
      temperature: that the chain should have; 0 for an optimiser.
      friction: a number or a tree prefix of the position; None without any.
      noise: factor on the injected noise, a number or a tree prefix of the position.
      mass: a number, a tree prefix of the position, or a tree with an array for each leaf.
      thermal_momentum: whether the state has a `momentum` that should have the temperature.
      adaptation_steps: steps at the start in which the sampler changes itself.
      rebuild: makes the sampler from a step size and a friction, where one of them is "auto" and
        not measured yet; None for one that can be run.
    """

    name: str
    potential: Potential
    step_size: Schedule
    temperature: float
    friction: Tree = None
    noise: Tree = 1.0
    mass: Tree = 1.0
    thermal_momentum: bool = False
    adaptation_steps: int = 0
    rebuild: Callable[[Any, Tree], Any] | None = None


class Sampler(NamedTuple):
    """`init(position) -> state` and `step(key, state, batch) -> (state, info)`, both pure.

    Every state is a NamedTuple with `.step`, the number of transitions taken, and `.position`.
    Every info has `.energy` and `.step_size`. `facts` may be None: a chain of an own sampler is
    then not judged by its temperature.
    """

    init: Callable[[Tree], Any]
    step: Callable[[Key, Any, Batch], tuple[Any, Any]]
    facts: SamplerFacts | None = None
