"""The protocol that every likelihood keeps.

A network gives outputs for each input. The likelihood turns them into the parameters of a
distribution of the target, one row of numbers for each input: logits, or means and log scales. All
else is a function of these rows: the log-probability of a target, the average over draws, every
metric and figure. So rows of draws can be kept in a file and everything made from them again.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from pxsgmcmc.metrics._windows import Windows
from pxsgmcmc.types import Array, Tree

Task = Literal["classification", "regression", "custom"]


class Sums(Protocol):
    """Metrics of some rows before they are divided, so that sets can be pooled."""

    @property
    def rows(self) -> int:
        """How many went in."""
        ...

    def __add__(self, other: Any) -> Any:
        """The rows of both together, each counting the same."""
        ...

    def metrics(self) -> dict[str, float]:
        """Every metric of these rows."""
        ...


class Collector(Protocol):
    """Takes the rows of one draw after the other and gives what they predict together."""

    def add(self, rows: slice, distribution: np.ndarray) -> None:
        """Some rows of one draw."""

    def finish(self, draws: int) -> Any:
        """What so many draws predict."""


@runtime_checkable
class Likelihood(Protocol):
    """How targets depend on the network's outputs; made by the functions of this room.

    Attributes:
      name: with its settings, as one would type it: "gaussian(noise='learned')".
      task: which kind of metrics and figures there are.
      headline: the metrics to show first, the most important first.
    """

    @property
    def name(self) -> str:
        """With its settings, as one would type it."""
        ...

    @property
    def task(self) -> Task:
        """Which kind of metrics and figures there are."""
        ...

    @property
    def headline(self) -> tuple[str, ...]:
        """Metrics to show first."""
        ...

    def outputs(self, targets: int) -> int:
        """How many numbers a network must give for each input, for so many classes or targets."""
        ...

    def start(self) -> Mapping[str, Array]:
        """Where parameters of the likelihood's own begin; empty if it has none to sample."""
        ...

    def energy(self, own: Tree) -> Array:
        """Minus the log prior of its own parameters."""
        ...

    def check_targets(self, y: Any, names: tuple[str, ...], where: str) -> np.ndarray:
        """Targets as an array, or `UserError` that says what is wrong with them."""
        ...

    def distribution(self, outputs: Array, own: Tree, targets: int) -> Array:
        """Outputs (batch, ...) to parameters of the distribution, (batch, numbers)."""
        ...

    def log_prob(self, distribution: Array, y: Array) -> Array:
        """Log-probability of each target, (batch,)."""
        ...

    def collector(self, rows: int) -> Collector:
        """An empty one, for so many inputs."""
        ...

    def average(self, distributions: Array, levels: tuple[float, ...]) -> dict[str, Array]:
        """What (draws, rows, numbers) predict together, in JAX: name -> array, by row first.

        The numbers that a `collector` finishes with; quantiles are those of `levels`.
        """
        ...

    def sums(self, distributions: np.ndarray, y: np.ndarray) -> Sums:
        """All metrics of (draws, rows, numbers)."""
        ...

    def measure_windows(
        self, distributions: np.ndarray, y: np.ndarray, names: tuple[str, ...], windows: Windows
    ) -> dict[str, np.ndarray]:
        """Some metrics of windows over the draws, name -> (windows,)."""
        ...

    def uncertainty(self, distributions: np.ndarray) -> np.ndarray:
        """One number a row, larger for inputs that the draws know less about, (rows,)."""
        ...

    def followed(self, distributions: np.ndarray) -> np.ndarray:
        """What is followed over draws to see whether they have settled, (draws, rows, numbers)."""
        ...

    def error(self, distribution: np.ndarray, y: np.ndarray) -> float:
        """The error of one draw, for lines and planes between draws: lower is better."""
        ...
