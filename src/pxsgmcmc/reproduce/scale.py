"""The three sizes at which the paper is reproduced."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from pxsgmcmc.config import Config, parse_config
from pxsgmcmc.data._locate import locate
from pxsgmcmc.errors import UserError, did_you_mean


class Cost(NamedTuple):
    """Rough processor seconds of a run on one core, and its memory, for estimates before a start.

    Those of the desk and of the laptop were measured, rounded up, on a busy machine; the step of
    the laptop alone on it. Those of the paper are guesses.

    Attributes:
      start: of a process, until its first step.
      step: of the network without factors.
      expanded: how many times as long a step takes with factors (c = d = 1).
      evaluation: of all draws on all sets of the scale.
      diagnosis: of one run.
      gigabytes: that a process takes.
    """

    start: float
    step: float
    expanded: float
    evaluation: float
    diagnosis: float
    gigabytes: float


class Scale(NamedTuple):
    """A size.

    Attributes:
      name: "desk", "laptop" or "paper".
      about: in one sentence.
      seeds: of each run, unless told.
      shifts: shifted sets that are evaluated where the user has them.
      outside: out-of-distribution sets likewise.
      stand_ins: out-of-distribution sets inside the package, taken where there are none of these.
      cost: of a run on a CPU.
    """

    name: str
    about: str
    seeds: int
    cost: Cost
    shifts: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    stand_ins: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What all its runs share, as TOML."""
        return (files("pxsgmcmc.reproduce") / "scales" / f"{self.name}.toml").read_text("utf-8")

    def config(self, settings: Mapping[str, Any]) -> Config:
        """A configuration of this scale with settings, by their full name, over it."""
        flags = [f"--{name}={_as_toml(value)}" for name, value in settings.items()]
        return parse_config(self.text, flags, name=f"{self.name}.toml")


_SHIFTS, _OUTSIDE = ("cifar10.1", "cifar10.2", "stl10"), ("svhn", "lsun")
_PHOTOS = ("photos-sklearn-rgb", "photos-skimage-rgb")
SCALES = {
    scale.name: scale
    for scale in (
        Scale(
            "desk",
            "digits of 8 x 8 pixels, residual network of depth 8 and width 4, 20 draws of 100 "
            "steps after 1,000 from a draw of the prior, unless said",
            8,
            Cost(
                start=4.5, step=0.0035, expanded=1.4, evaluation=5.0, diagnosis=10.0, gigabytes=0.6
            ),
            shifts=("digits-shift",),
            outside=("photos-sklearn", "photos-skimage"),
        ),
        Scale(
            "laptop",
            "CIFAR-10 at 16 x 16 pixels, residual network of depth 8 and width 16, 20 draws of 500 "
            "steps after 2,500",
            4,
            Cost(
                start=15.0,
                step=0.035,
                expanded=1.1,
                evaluation=120.0,
                diagnosis=60.0,
                gigabytes=1.2,
            ),
            shifts=_SHIFTS,
            outside=_OUTSIDE,
            stand_ins=_PHOTOS,
        ),
        Scale(
            "paper",
            "CIFAR-10, R20-FRN-Swish, 100 draws of 5,000 steps, as published",
            4,
            Cost(
                start=40.0,
                step=0.75,
                expanded=1.05,
                evaluation=200_000.0,
                diagnosis=8_000.0,
                gigabytes=2.5,
            ),
            shifts=_SHIFTS,
            outside=_OUTSIDE,
            stand_ins=_PHOTOS,
        ),
    )
}


def scale_named(name: str) -> Scale:
    """The scale of that name."""
    if name not in SCALES:
        raise UserError(f"`--scale` cannot be {name!r}; {did_you_mean(name, SCALES)}")
    return SCALES[name]


def sets_there(scale: Scale, root: str | Path | None = None) -> dict[str, tuple[str, ...]]:
    """The shifted and out-of-distribution sets of a scale that the user has, by setting.

    Args:
      scale: whose sets.
      root: folder of official sets; the cache folder if not given.
    """
    if scale.name == "desk":
        return {}
    shifts = tuple(name for name in scale.shifts if _is_there(name, root))
    outside = tuple(name for name in scale.outside if _is_there(name, root))
    return {"evaluate.shifts": shifts, "evaluate.out_of_distribution": outside or scale.stand_ins}


def _is_there(name: str, root: str | Path | None) -> bool:
    try:
        locate(name, root)
    except UserError:
        return False
    return True


def _as_toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_as_toml, value))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{k} = {_as_toml(v)}' for k, v in value.items())} }}"
    return f'"{value}"' if isinstance(value, str) else repr(value)
