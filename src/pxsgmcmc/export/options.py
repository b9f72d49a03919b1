"""What can be chosen about a frozen predictor, and what came of it."""

from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from pxsgmcmc.errors import UserError
from pxsgmcmc.export.losses import described

Choice = Literal["evenly", "greedily"]
Precision = Literal["single", "half"]
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


class ExportOptions(NamedTuple):
    """What goes into a frozen predictor.

    Attributes:
      draws: how many to keep; all if None.
      choose: which: "evenly" from every chain, or "greedily", one after the other, each the one
        that makes the average predict the validation rows best.
      precision: "single" keeps weights in float32, "half" in float16, at half the size; arithmetic
        is in float32 either way.
      levels: of the quantiles of numbers, each between 0 and 1.
    """

    draws: int | None = None
    choose: Choice = "evenly"
    precision: Precision = "single"
    levels: tuple[float, ...] = LEVELS

    def checked(self) -> "ExportOptions":
        """These options, if they make sense."""
        for name, known in {"choose": get_args(Choice), "precision": get_args(Precision)}.items():
            if getattr(self, name) not in known:
                words = " or ".join(map(repr, known))
                raise UserError(f"`{name}` must be {words}, got {getattr(self, name)!r}.")
        levels = np.asarray(self.levels, np.float64)
        if levels.ndim != 1 or not ((levels > 0.0) & (levels < 1.0)).all():
            raise UserError(
                f"`levels` must be numbers between 0 and 1 (both excluded), got {self.levels!r}."
            )
        return self._replace(levels=tuple(levels.tolist()))


class Exported(NamedTuple):
    """What was written.

    Attributes:
      path: of the file.
      size: of the file in bytes.
      draws: how many it averages.
      of_draws: how many the run has.
      difference: largest difference between what the file, read back, and the library say of some
        rows with these draws; for numbers in units of the predicted standard deviation.
      loss: what fewer draws or half precision lose on held-out rows, see `measured_loss`; empty if
        nothing was left out, or if the problem has no held-out rows.
    """

    path: Path
    size: int
    draws: int
    of_draws: int
    difference: float
    loss: dict[str, Any]

    def __repr__(self) -> str:
        """Two lines: what was written, what was lost."""
        some = f"{self.draws} of {self.of_draws}" if self.draws < self.of_draws else f"{self.draws}"
        text = (
            f"{self.path}: {some} draws, {self.size / 1e6:.2f} MB; read back, it agrees with the "
            f"run's predictions to {self.difference:.1e}"
        )
        return f"{text}\n{described(self.loss)}" if self.loss else text
