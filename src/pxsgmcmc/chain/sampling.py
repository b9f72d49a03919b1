"""All that decides the draws of some chains, as one value."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.chain.execution import Execution
from pxsgmcmc.problem import Problem
from pxsgmcmc.types import Batch, Sampler, Tree


@dataclass(frozen=True)
class Sampling:
    """All that decides the draws of some chains.

    Attributes:
      build: from a factor on the step size to a sampler.
      start: from the number of a chain to where it starts.
      problem: what is sampled, if it is one of ours.
      data: a pytree of arrays with one leading axis, as stored; None without data.
      collection: which steps are kept.
      batch_size: rows a step sees.
      seed: of everything random.
      chains: their numbers.
      execution: how.
      config: text to keep as config.toml; made from the settings unless given.
      facts: more to write into the manifest.
    """

    build: Callable[[float], Sampler]
    start: Callable[[int], Tree]
    problem: Problem | None
    data: Batch
    collection: Collection
    batch_size: int
    seed: int
    chains: tuple[int, ...]
    execution: Execution
    config: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    def settings_text(self, place: int) -> str:
        """The settings of one chain as TOML, for config.toml."""
        if self.config is not None:
            return self.config
        settings = {
            **self.collection._asdict(),
            "batch_size": self.batch_size,
            "seed": self.seed,
            "chain": self.chains[place],
        }
        text = "".join(f"{name} = {value}\n" for name, value in settings.items())
        if measured := self.facts.get("measured"):
            text += f"\n[sampler]  # {measured['by']}\nstep_size = {measured['step_size']!r}\n"
            pairs = ", ".join(f"{name} = {g!r}" for name, g in measured["friction"].items())
            text += f"friction = {{ {pairs} }}\n" if pairs else ""
        return text
