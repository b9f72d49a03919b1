"""Is the chain still well? Looked at between chunks, on the device, before anything is kept."""

import math
from typing import Any

import jax
import jax.numpy as jnp

from pxsgmcmc.errors import Diverged
from pxsgmcmc.expansion.position import Expanded
from pxsgmcmc.tree import size, sum_of_squares
from pxsgmcmc.types import Tree


def by_group(tree: Tree) -> dict[str, Tree]:
    """The parts of a position or momentum that are reported separately."""
    if isinstance(tree, Expanded):
        return {"base": tree.base, "factors": tree.factors}
    return {"base": tree}


@jax.jit
def vitals(state: Any) -> dict[str, Any]:
    """Norm of the position and, where there is a momentum, kinetic temperature, by group.

    The kinetic temperature is the mean square of the momentum: near the sampler's temperature when
    the chain is well (for unit mass).
    """
    found: dict[str, Any] = {
        "norm": {k: jnp.sqrt(sum_of_squares(v)) for k, v in by_group(state.position).items()}
    }
    if hasattr(state, "momentum"):
        groups = {k: v for k, v in by_group(state.momentum).items() if size(v)}
        found["temperature"] = {k: sum_of_squares(v) / size(v) for k, v in groups.items()}
    return found


class Health:
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

    def check(self, first: int, last: int, energy: float, step_size: float, seen: dict) -> None:
        """Look at the steps `first` to `last`, whose mean energy and last step size are given."""
        numbers = [float(x) for x in jax.tree.leaves(seen)]
        norm = math.hypot(*(float(x) for x in seen["norm"].values()))
        where = f"steps {first} to {last}, step size {step_size:.3g}"
        advice = "Lower `step_size` or raise `friction`."
        if not math.isfinite(energy):
            raise Diverged(f"The energy is not finite ({where}). {advice}")
        if not all(map(math.isfinite, numbers)):
            raise Diverged(f"The position or momentum is not finite ({where}). {advice}")
        if self.largest_energy is None or self.first_norm is None:
            self.largest_energy, self.first_norm = abs(energy), norm
        if energy > self.energy_jump * (self.largest_energy + self.coordinates):
            raise Diverged(
                f"The energy jumped to {energy:.3g} from at most {self.largest_energy:.3g} before "
                f"({where}). {advice}"
            )
        if norm > self.norm_jump * (self.first_norm + math.sqrt(self.coordinates)):
            raise Diverged(
                f"The norm of the position ran away to {norm:.3g} from {self.first_norm:.3g} at "
                f"the start ({where}). {advice}"
            )
        self.largest_energy = max(self.largest_energy, abs(energy))

    def memory(self) -> dict[str, float | None]:
        """What must be saved so that a resumed chain is watched alike."""
        return {"largest_energy": self.largest_energy, "first_norm": self.first_norm}

    def recall(self, memory: dict[str, float | None]) -> None:
        """Go on from a saved `memory`."""
        self.largest_energy = memory["largest_energy"]
        self.first_norm = memory["first_norm"]
