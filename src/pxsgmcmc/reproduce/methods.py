"""The methods that are compared: what makes each of them, and what is searched for it.

All searches have the same rules and the same number of chains (`searches.py`), so that no method
is better prepared than another. The outcome is kept in `settings/SCALE.json`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pxsgmcmc.tuning.best_first import Axis

STEP, VARIANCE = "sampler.step_size.peak", "prior.variance"
COARSE = (-2, 0, 2)  # factors 1/4, 1 and 4
EXPANDED = {"expansion.out": 1, "expansion.into": 1}


FACTORS = "sampler.friction.factors"


class Method(NamedTuple):
    """One method.

    Attributes:
      settings: what makes it this method, at the desk and at the paper's size.
      axes: what is searched, with the centre of the grid at desk size.
    """

    settings: Mapping[str, Any]
    axes: tuple[Axis, ...]

    def settings_at(self, scale: str) -> Mapping[str, Any]:
        """What makes it this method at a scale."""
        if scale != "laptop" or FACTORS not in self.settings:
            return self.settings
        return {**self.settings, FACTORS: _LAPTOP_FACTORS}

    def axes_at(self, scale: str) -> tuple[Axis, ...]:
        """What is searched at a scale."""
        if scale != "laptop":
            return self.axes
        sampler = self.settings["sampler.name"]
        return tuple(a._replace(centre=a.centre * _times(sampler, a.name)) for a in self.axes)


# From the 1,000 rows of the desk to 40,960. A step that multiplies the gradient of the energy once
# falls as 1 / rows; one of a sampler with momentum or with a preconditioner as 1 / sqrt(rows).
# Frictions rise fourfold, and sixteenfold to the paper's 100 with factors: at 25 and 2 a first look
# saw the base at T = 1.2 and the factors at 1.8 after 800 steps of 5e-4. Variances stay.
_ROWS = 40_960 / 1_000
_LAPTOP_FACTORS = 16.0


def _times(sampler: str, setting: str) -> float:
    if setting.startswith("sampler.friction"):
        return 16.0 if setting.endswith(".base") else 4.0
    if setting == VARIANCE:
        return 1.0
    return 1.0 / _ROWS if sampler in ("sgld", "sgd") else _ROWS**-0.5


def _axes(step: float, variance: float, *friction: Axis) -> tuple[Axis, ...]:
    return (Axis(STEP, step, COARSE, 1), Axis(VARIANCE, variance, (0,), 1), *friction)


def _sampler(name: str, **more: Any) -> dict[str, Any]:
    cyclical = {"sampler.name": name, "sampler.step_size.kind": "cyclical"}
    return cyclical | {f"sampler.{key}": value for key, value in more.items()}


_FRICTION = Axis("sampler.friction", 6.25, (0,), 2)
_BASE = Axis("sampler.friction.base", 6.25, (0,), 2)
# Not searched. With the paper's 1 the factors of desk chains are 10 to 14 % too hot.
_FACTORS = {FACTORS: 2.0}
# A quarter of the step size of its meta-training, sqrt(50 / rows), for 1,000 rows.
_LEARNED = {"sampler.name": "l2e", "sampler.weights": "l2e/desk"}
_LEARNED_AXES = (
    Axis("sampler.step_size", 0.0559, COARSE, 1),
    Axis(VARIANCE, 0.2, (0,), 1),
)

METHODS: dict[str, Method] = {
    "SGLD": Method(_sampler("sgld"), _axes(4e-4, 0.4)),
    "pSGLD": Method(_sampler("psgld"), _axes(5e-3, 0.4)),
    "SGHMC": Method(_sampler("sghmc"), _axes(8e-3, 0.4, _FRICTION)),
    "SGNHT": Method(_sampler("sgnht"), _axes(8e-3, 0.4, _FRICTION)),
    "PX-SGHMC": Method(_sampler("sghmc") | EXPANDED | _FACTORS, _axes(2e-3, 0.2, _BASE)),
    "SGRHMC": Method(_sampler("sgrhmc"), _axes(1e-2, 0.4, _FRICTION)),
    # Five members, which share the steps of one chain (`Planner`) and start as networks do.
    "Deep ensemble": Method(
        _sampler("sgd", momentum=0.9) | {"chains": 5, "chain.start": "random"}, _axes(4e-4, 0.2)
    ),
    "PX-SGLD": Method(_sampler("sgld") | EXPANDED, _axes(1e-4, 0.2)),
    "PX-pSGLD": Method(_sampler("psgld") | EXPANDED, _axes(1e-3, 0.2)),
    "PX-SGNHT": Method(_sampler("sgnht") | EXPANDED | _FACTORS, _axes(2e-3, 0.2, _BASE)),
    "PX-SGRHMC": Method(_sampler("sgrhmc") | EXPANDED | _FACTORS, _axes(5e-3, 0.2, _BASE)),
    "L2E": Method(_LEARNED, _LEARNED_AXES),
    "PX-L2E": Method(_LEARNED | EXPANDED, _LEARNED_AXES),
}
# Methods that are searched in one go, with equally many chains each.
GROUPS = {
    "table1": tuple(METHODS)[:7],
    "samplers": tuple(METHODS)[7:11],
    "l2e": ("L2E", "PX-L2E"),
}
PUBLISHED_FIVE = ("SGLD", "pSGLD", "SGHMC", "SGNHT", "PX-SGHMC")
BASELINES = PUBLISHED_FIVE[:4]
