"""Samplers with "auto" for step size or friction: `px.sample` measures these before it begins."""

from collections.abc import Callable
from typing import Any, NoReturn

from pxsgmcmc.errors import UserError, one_line
from pxsgmcmc.schedules import AUTO, Cyclical
from pxsgmcmc.types import Potential, Sampler, SamplerFacts, Tree


def is_automatic(step_size: Any, friction: Any = None) -> bool:
    """Whether one of them is to be measured."""
    peak = step_size.peak if isinstance(step_size, Cyclical) else step_size
    return any(isinstance(value, str) and value == AUTO for value in (peak, friction))


def automatic(
    name: str,
    rebuild: Callable[[Any, Tree], Sampler],
    potential: Potential,
    step_size: Any,
    friction: Tree = None,
    *,
    temperature: float,
    mass: Tree,
    noise: Tree,
) -> Sampler:
    """A sampler that cannot be run yet; `facts.rebuild` makes one that can.

    Args:
      name: of the sampler.
      rebuild: from step size and friction to the sampler.
      potential: its energy.
      step_size: "auto", a cyclical schedule whose peak is "auto", or as the sampler takes it.
      friction: "auto", or as the sampler takes it; None for one without.
      temperature: of the sampler.
      mass: of the sampler.
      noise: of the sampler.
    """
    ones = {"mass": mass, "noise": noise}
    for what, value in ones.items():
        if not (isinstance(value, int | float) and value == 1.0):
            raise UserError(
                f'`{what}` must be 1 where step size or friction is "auto", since the laws that '
                f"these are computed from know no other, got {one_line(value)}."
            )
    if not temperature > 0.0:
        raise UserError(
            '`temperature` must be above 0 where step size or friction is "auto", got '
            f"{one_line(temperature)}: without noise there is no temperature to be right."
        )

    def refuse(*_: Any) -> NoReturn:
        raise UserError(
            '`step_size` and `friction` can be "auto" in a sampler that `px.sample` is given as it '
            "is; elsewhere take the numbers of `px.pilot(...).recommend(...)`."
        )

    facts = SamplerFacts(
        name, potential, step_size, temperature, friction, thermal_momentum=True, rebuild=rebuild
    )
    return Sampler(refuse, refuse, facts)
