"""At which steps draws are taken."""

from typing import NamedTuple

from pxsgmcmc.errors import UserError, check_count


class Collection(NamedTuple):
    """Burn-in, then cycles, each giving its last draws.

    Attributes:
      draws: how many in all.
      cycle_length: steps of a cycle.
      burn_in: steps before the first cycle.
      draws_per_cycle: draws from each cycle, the last at its end.
      thinning: steps between draws of one cycle.

    Example:
      >>> [Collection(3, 10, draws_per_cycle=2, thinning=3).step_of(draw) for draw in (1, 2, 3)]
      [7, 10, 17]
    """

    draws: int
    cycle_length: int
    burn_in: int = 0
    draws_per_cycle: int = 1
    thinning: int = 1

    def step_of(self, draw: int) -> int:
        """How many steps have been taken when draw number `draw` (from 1) is kept."""
        cycle, place = divmod(draw - 1, self.draws_per_cycle)
        end = self.burn_in + (cycle + 1) * self.cycle_length
        return end - (self.draws_per_cycle - 1 - place) * self.thinning

    @property
    def total_steps(self) -> int:
        """Steps until the last draw."""
        return self.step_of(self.draws)

    def schedule_offset(self, period: int | None) -> int:
        """Steps by which a schedule of this period is ahead, so that draws lie where it ends.

        Raises:
          UserError: if draws and schedule do not go together.
        """
        if period is None:
            return 0
        if self.cycle_length % period:
            raise UserError(
                f"`cycle_length` must be a multiple of the schedule's period, {period}, so that "
                f"draws lie where its cycles end, got {self.cycle_length}."
            )
        return -self.burn_in % period


def collection_of(
    draws: int, cycle_length: int, burn_in: int, draws_per_cycle: int, thinning: int | None
) -> Collection:
    """A collection that makes sense; without `thinning`, draws spread evenly over a cycle."""
    check_count("draws", draws, at_least=1)
    check_count("cycle_length", cycle_length, at_least=1)
    check_count("burn_in", burn_in)
    check_count("draws_per_cycle", draws_per_cycle, at_least=1)
    if thinning is None:
        thinning = max(cycle_length // draws_per_cycle, 1)
    check_count("thinning", thinning, at_least=1)
    if (draws_per_cycle - 1) * thinning >= cycle_length:
        raise UserError(
            f"`draws_per_cycle` draws, `thinning` {thinning} steps apart, must fit into a cycle of "
            f"{cycle_length} steps, got {draws_per_cycle}."
        )
    return Collection(draws, cycle_length, burn_in, draws_per_cycle, thinning)
