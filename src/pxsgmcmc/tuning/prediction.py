"""What a sampler will do at given settings, from what was measured and the laws."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pxsgmcmc.errors import UserError, check_number, did_you_mean
from pxsgmcmc.tuning import laws
from pxsgmcmc.tuning.correlation import sghmc_autocorrelation, sgld_autocorrelation
from pxsgmcmc.tuning.cycles import cosine_cycle, cycle_temperatures, typical_step_size
from pxsgmcmc.tuning.laws import UNSTABLE, GroupTerrain, Temperatures
from pxsgmcmc.tuning.measure import Measurement

SAMPLERS = {"sgld": "SGLD", "sghmc": "SGHMC", "sgnht": "SGNHT"}


@dataclass(frozen=True)
class Prediction:
    """What a sampler will do.

    Attributes:
      temperatures: group -> what it will show, over a cycle if there is one.
      limit: the step size from which the sampler is unstable.
      friction: group -> friction that acts; for SGNHT, where its thermostats settle.
      autocorrelation: group -> integrated autocorrelation times of the position in steps, of the
        stiffest and of the softest direction; infinite where nothing holds it.
    """

    temperatures: Mapping[str, Temperatures]
    limit: float
    friction: Mapping[str, float]
    autocorrelation: Mapping[str, tuple[float, float]]

    @property
    def stable(self) -> bool:
        """Whether the chain stays where it is."""
        return all(math.isfinite(found.configurational) for found in self.temperatures.values())


def predict(
    measurement: Measurement,
    sampler: str,
    step_size: float,
    *,
    friction: float | Mapping[str, float] | None = None,
    temperature: float = 1.0,
    cycle_length: int | None = None,
) -> Prediction:
    """What a sampler will do at a step size.

    Args:
      measurement: of the energy.
      sampler: "sgld", "sghmc" or "sgnht".
      step_size: constant, or the peak of a cosine cycle.
      friction: one number, or group -> number; SGNHT's noise constant; None for SGLD.
      temperature: of the sampler, above 0.
      cycle_length: steps of a cycle; None for a constant step size.
    """
    check_sampler(sampler)
    h = check_number("step_size", step_size, above=0.0)
    T = check_number("temperature", temperature, above=0.0)
    by_group = friction_by_group(measurement, sampler, friction)
    typical = h if cycle_length is None else typical_step_size(cosine_cycle(h, cycle_length))
    acting = dict(by_group)
    if sampler == "sgnht":
        acting = {
            name: laws.sgnht_friction(terrain, typical, friction=by_group[name], temperature=T)
            for name, terrain in measurement.terrain.items()
        }
    limit = stability_limit(measurement, sampler, acting)
    temperatures, times = {}, {}
    for name, terrain in measurement.terrain.items():
        g = acting.get(name)
        if not h < limit or (g is not None and math.isnan(g)):
            temperatures[name] = UNSTABLE
        elif cycle_length is not None:
            temperatures[name] = cycle_temperatures(
                terrain,
                cosine_cycle(h, cycle_length),
                friction=g,
                temperature=T,
                injected=by_group.get(name),
            )
        else:
            temperatures[name] = temperatures_at(terrain, sampler, h, by_group.get(name), T)
        times[name] = tuple(
            _autocorrelation(c, typical, g) for c in (terrain.stiffest, terrain.softest)
        )
    return Prediction(temperatures, limit, acting, times)


def temperatures_at(
    terrain: GroupTerrain,
    sampler: str,
    step_size: float,
    friction: float | None,
    temperature: float,
    *,
    shuffled: bool = True,
) -> Temperatures:
    """The law of one group at a constant step size."""
    settings = {"temperature": temperature, "shuffled": shuffled}
    if friction is None:
        return laws.sgld_temperatures(terrain, step_size, **settings)
    law: Callable[..., Temperatures] = {
        "sghmc": laws.sghmc_temperatures,
        "sgnht": laws.sgnht_temperatures,
    }[sampler]
    return law(terrain, step_size, friction=friction, **settings)


def stability_limit(measurement: Measurement, sampler: str, friction: Mapping[str, float]) -> float:
    """The step size from which a sampler is unstable, with the largest curvature of all groups."""
    if sampler == "sgld":
        return laws.sgld_limit(measurement.largest)
    return laws.sghmc_limit(measurement.largest, max(friction.values()))


def check_sampler(name: str) -> None:
    """Raise `UserError` unless there is a law for this sampler."""
    if name not in SAMPLERS:
        hint = did_you_mean(name, SAMPLERS)
        raise UserError(f"`sampler` must be one whose law is known, got {name!r}; {hint}")


def friction_by_group(
    measurement: Measurement, sampler: str, friction: float | Mapping[str, float] | None
) -> dict[str, float]:
    """Group -> friction; empty for a sampler without."""
    if sampler == "sgld":
        if friction is not None:
            raise UserError(f"`friction` must be left out: SGLD has none, got {friction!r}.")
        return {}
    if friction is None:
        raise UserError(f"`friction` must be given for {SAMPLERS[sampler]}, got None.")
    if isinstance(friction, Mapping):
        missing = [name for name in measurement.terrain if name not in friction]
        if missing:
            raise UserError(f"`friction` must have every group, got none for {missing[0]!r}.")
        values = {name: friction[name] for name in measurement.terrain}
    else:
        values = dict.fromkeys(measurement.terrain, friction)
    return {name: check_number("friction", value, above=0.0) for name, value in values.items()}


def _autocorrelation(curvature: float, step_size: float, friction: float | None) -> float:
    if friction is not None and math.isnan(friction):  # a thermostat that does not settle
        return math.inf
    if friction is None:
        return sgld_autocorrelation(curvature, step_size)
    return sghmc_autocorrelation(curvature, step_size, friction)
