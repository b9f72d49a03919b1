"""At which steps draws are taken."""

from typing import NamedTuple

from pxsgmcmc.errors import UserError, check_count


class Collection(NamedTuple):
    """Burn-in, then cycles, each giving its last draws.

    Attributes:
      draws: how many in all.
      steps: of a cycle.
      burn_in: steps before the first cycle.
      per_cycle: draws from each cycle, the last at its end.
      every: steps between draws of one cycle.

    Example:
      >>> [Collection(3, steps=10, per_cycle=2, every=3).step_of(draw) for draw in (1, 2, 3)]
      [7, 10, 17]
    """

    draws: int
    steps: int
    burn_in: int = 0
    per_cycle: int = 1
    every: int = 1

    def step_of(self, draw: int) -> int:
        """How many steps have been taken when draw number `draw` (from 1) is kept."""
        cycle, place = divmod(draw - 1, self.per_cycle)
        end = self.burn_in + (cycle + 1) * self.steps
        return end - (self.per_cycle - 1 - place) * self.every

    def checked(self) -> "Collection":
        """This collection, if it makes sense."""
        check_count("draws", self.draws, at_least=1)
        check_count("steps", self.steps, at_least=1)
        check_count("burn_in", self.burn_in)
        check_count("draws_per_cycle", self.per_cycle, at_least=1)
        check_count("every", self.every, at_least=1)
        if (self.per_cycle - 1) * self.every >= self.steps:
            raise UserError(
                f"`draws_per_cycle` draws, `every` {self.every} steps, must fit into a cycle of "
                f"{self.steps} steps, got {self.per_cycle}."
            )
        return self
