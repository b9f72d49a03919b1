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


class Method(NamedTuple):
    """One method.

    Attributes:
      settings: what makes it this method.
      axes: what is searched, with the centre of the grid at desk and laptop size.
    """

    settings: Mapping[str, Any]
    axes: tuple[Axis, ...]


def _axes(step: float, *friction: Axis) -> tuple[Axis, ...]:
    return (Axis(STEP, step, COARSE, 1), Axis(VARIANCE, 0.2, (0,), 1), *friction)


def _sampler(name: str, **more: Any) -> dict[str, Any]:
    cyclical = {"sampler.name": name, "sampler.step_size.kind": "cyclical"}
    return cyclical | {f"sampler.{key}": value for key, value in more.items()}


_FRICTION = Axis("sampler.friction", 12.5, (0,), 2)
_BASE = Axis("sampler.friction.base", 12.5, (0,), 2)
_FACTORS = {"sampler.friction.factors": 1.0}  # the paper's value, used there without a search
# With the step size of its meta-training, sqrt(50 / rows), for the 1,000 rows of the desk scale.
_LEARNED = {"sampler.name": "l2e", "sampler.weights": "l2e/desk"}
_LEARNED_AXES = (
    Axis("sampler.step_size", 0.2236, COARSE, 1),
    Axis(VARIANCE, 0.2, (0,), 1),
)

METHODS: dict[str, Method] = {
    "SGLD": Method(_sampler("sgld"), _axes(1e-4)),
    "pSGLD": Method(_sampler("psgld"), _axes(3e-4)),
    "SGHMC": Method(_sampler("sghmc"), _axes(8e-3, _FRICTION)),
    "SGNHT": Method(_sampler("sgnht"), _axes(8e-3, _FRICTION)),
    "PX-SGHMC": Method(_sampler("sghmc") | EXPANDED | _FACTORS, _axes(4e-3, _BASE)),
    "SGRHMC": Method(_sampler("sgrhmc"), _axes(1e-2, _FRICTION)),
    # Five members, which share the steps of one chain (`Planner`).
    "Deep ensemble": Method(_sampler("sgd", momentum=0.9) | {"chains": 5}, _axes(1e-4)),
    "PX-SGLD": Method(_sampler("sgld") | EXPANDED, _axes(1e-4)),
    "PX-pSGLD": Method(_sampler("psgld") | EXPANDED, _axes(3e-4)),
    "PX-SGNHT": Method(_sampler("sgnht") | EXPANDED | _FACTORS, _axes(4e-3, _BASE)),
    "PX-SGRHMC": Method(_sampler("sgrhmc") | EXPANDED | _FACTORS, _axes(1e-2, _BASE)),
    "L2E": Method(_LEARNED, _LEARNED_AXES),
    "PX-L2E": Method(_LEARNED | EXPANDED, _LEARNED_AXES),
}
# Methods that are searched in one go, with equally many chains each.
GROUPS = {"table1": tuple(METHODS)[:7], "samplers": tuple(METHODS)[:11], "l2e": ("L2E", "PX-L2E")}
PUBLISHED_FIVE = ("SGLD", "pSGLD", "SGHMC", "SGNHT", "PX-SGHMC")
BASELINES = PUBLISHED_FIVE[:4]
