"""What a meta-training is told; kept in its folder, and the same when it goes on."""

import math
from typing import Any

import msgspec

from pxsgmcmc.errors import UserError, check_count, check_number


class MetaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a meta-training.

    Attributes:
      outer_steps: in all; the learning rate falls over them.
      seed: of everything random.
      data_sets: of the tasks.
      kinds: of networks, "dense" and "conv".
      widths: of their hidden layers.
      depths: how many hidden layers.
      inner_steps: of the sampler in one unroll.
      averaged_steps: at the end of an unroll, from which predictions are averaged.
      thinning: steps between averaged predictions.
      batch_size: rows an inner step sees.
      held_out_rows: validation rows on which the averaged predictions are judged, at most.
      pairs: of perturbations in an outer step, each with a task of its own.
      sigma: standard deviation of a perturbation of a weight.
      learning_rate: of Adam at the first outer step; a cosine takes it to zero at the last.
      clip: largest norm of a meta-gradient.
      step_multiplier: the inner step size is sqrt(step_multiplier / rows).
      noise_multiplier: as in `px.l2e`.
      weight_decay: of the mean loss: a normal prior of variance 1 / (rows * weight_decay).
      evaluate_every: outer steps between looks at the held-out tasks.
      repeats: unrolls of each held-out task, from different starts.
    """

    outer_steps: int = 500
    seed: int = 0
    data_sets: tuple[str, ...] = ("digits", "mnist5k-14", "mnist5k")
    kinds: tuple[str, ...] = ("dense", "conv")
    widths: tuple[int, ...] = (4, 8)
    depths: tuple[int, ...] = (1, 2)
    inner_steps: int = 200
    averaged_steps: int = 50
    thinning: int = 5
    batch_size: int = 32
    held_out_rows: int = 250
    pairs: int = 4
    sigma: float = 0.03
    learning_rate: float = 0.03
    clip: float = 1.0
    step_multiplier: float = 50.0
    noise_multiplier: float = 1e-3
    weight_decay: float = 5e-4
    evaluate_every: int = 100
    repeats: int = 4

    def step_size(self, rows: int) -> float:
        """The inner step size on so many rows."""
        return math.sqrt(self.step_multiplier / rows)

    @property
    def of_unroll(self) -> "MetaSettings":
        """Those that an unroll depends on, the others as they are by default."""
        names = (
            "inner_steps averaged_steps thinning batch_size held_out_rows step_multiplier "
            "noise_multiplier weight_decay"
        )
        return MetaSettings(**{name: getattr(self, name) for name in names.split()})

    @property
    def members(self) -> int:
        """How many predictions are averaged."""
        return self.averaged_steps // self.thinning


# The largest that is taken: beyond these is a slip, and would end for want of memory.
_COUNTS = {
    "outer_steps": 1_000_000,
    "inner_steps": 100_000,
    "averaged_steps": 100_000,
    "thinning": 100_000,
    "batch_size": 100_000,
    "held_out_rows": 100_000,
    "pairs": 1000,
    "evaluate_every": 1_000_000,
    "repeats": 1000,
}
_POSITIVE = "sigma learning_rate clip step_multiplier".split()


def checked(settings: MetaSettings) -> MetaSettings:
    """Return the settings if they can be used, else raise `UserError`."""
    values: dict[str, Any] = msgspec.structs.asdict(settings)
    check_count("seed", settings.seed)
    for name in _COUNTS:
        check_count(name, values[name], at_least=1)
    for name, most in {"seed": 1_000_000_000, **_COUNTS}.items():
        if values[name] > most:
            raise UserError(f"`{name}` must be at most {most:,}, got {values[name]}.")
    for name in _POSITIVE:
        check_number(name, values[name], above=0.0)
    for name in ("noise_multiplier", "weight_decay"):
        check_number(name, values[name], at_least=0.0)
    if settings.averaged_steps % settings.thinning:
        raise UserError(
            f"`averaged_steps` must be a multiple of `thinning` = {settings.thinning}, got "
            f"{settings.averaged_steps}."
        )
    if settings.averaged_steps > settings.inner_steps:
        raise UserError(
            f"`averaged_steps` must be at most `inner_steps` = {settings.inner_steps}, got "
            f"{settings.averaged_steps}."
        )
    return settings
