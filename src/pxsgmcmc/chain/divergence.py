"""Has the chain left where its steps are stable? Looked at between chunks, before a draw."""

import math
from typing import Any

import jax
import jax.numpy as jnp

from pxsgmcmc.chain.groups import by_group
from pxsgmcmc.errors import Diverged, UserError
from pxsgmcmc.tree import sum_of_squares

ADVICE = "Lower `step_size` or raise `friction`."


@jax.jit
def norms(state: Any) -> dict[str, Any]:
    """Norm of the position by group, and of the momentum under "momentum" where there is one."""
    by_name = {name: jnp.sqrt(sum_of_squares(x)) for name, x in by_group(state.position).items()}
    if hasattr(state, "momentum"):
        by_name["momentum"] = jnp.sqrt(sum_of_squares(state.momentum))
    return by_name


class DivergenceWatch:
    """Raises `Diverged` when the energy or the position is not finite, jumps or runs away.

    Args:
      coordinates: numbers in the position.
      energy_jump: how many times the largest mean energy so far (plus a unit per coordinate, what a
        chain at temperature 1 takes up from its start) a mean energy may be.
      norm_jump: how many times its start (plus one per root coordinate) a norm may be.
    """

    def __init__(self, coordinates: int, *, energy_jump: float = 10.0, norm_jump: float = 1e3):
        self.coordinates = coordinates
        self.energy_jump, self.norm_jump = energy_jump, norm_jump
        self.largest_energy: float | None = None
        self.first_norm: float | None = None

    def check(
        self, first: int, last: int, energy: float, step_size: float, norms: dict[str, float]
    ) -> None:
        """Look at the steps `first` to `last`.

        Args:
          first: number of the first step.
          last: of the last.
          energy: mean over these steps.
          step_size: the largest of these steps.
          norms: at the end of them, as `norms` gives them.
        """
        norm = math.hypot(*(value for name, value in norms.items() if name != "momentum"))
        where = f"steps {first} to {last}, largest step size {step_size:.3g}"
        if not math.isfinite(energy):
            raise Diverged(f"The energy is not finite ({where}). {ADVICE}")
        if not all(map(math.isfinite, norms.values())):
            raise Diverged(f"The position or momentum is not finite ({where}). {ADVICE}")
        if self.largest_energy is None or self.first_norm is None:
            self.largest_energy, self.first_norm = abs(energy), norm
        if energy > self.energy_jump * (self.largest_energy + self.coordinates):
            raise Diverged(
                f"The energy jumped to {energy:.3g} from at most {self.largest_energy:.3g} before "
                f"({where}). {ADVICE}"
            )
        if norm > self.norm_jump * (self.first_norm + math.sqrt(self.coordinates)):
            raise Diverged(
                f"The norm of the position ran away to {norm:.3g} from {self.first_norm:.3g} at "
                f"the start ({where}). {ADVICE}"
            )
        self.largest_energy = max(self.largest_energy, abs(energy))

    def memory(self) -> dict[str, float | None]:
        """What must be saved so that a resumed chain is watched alike."""
        return {"largest_energy": self.largest_energy, "first_norm": self.first_norm}

    def recall(self, memory: dict[str, float | None]) -> None:
        """Go on from a saved `memory`."""
        self.largest_energy = memory["largest_energy"]
        self.first_norm = memory["first_norm"]


def check_first_energy(energy: float) -> None:
    """The energy before any step: if that is not finite, no step size will help."""
    if not math.isfinite(energy):
        raise UserError(
            "The energy is not finite before the first step, so the input is to blame, not the "
            "step size: look for values that `apply`, or a log density of your own, turns into "
            "infinities or NaN, and at `position` itself."
        )
