"""Which steps are honest: stable, with temperatures that are nearly right, and by what friction."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pxsgmcmc.tuning.correlation import sghmc_relaxation
from pxsgmcmc.tuning.cycles import cosine_cycle, typical_step_size
from pxsgmcmc.tuning.laws import GroupTerrain, sghmc_limit, sgnht_friction
from pxsgmcmc.tuning.measure import Measurement
from pxsgmcmc.tuning.prediction import stability_limit, temperatures_at

SAFETY = 1.0 / 3.0  # share of the stability limit that a step has at most, unless told
TOLERANCE = 0.05  # share by which temperatures may be off
FRICTIONS = 24  # tried between the smallest and the largest


@dataclass(frozen=True)
class Wanted:
    """What a step has to keep to."""

    sampler: str
    temperature: float
    cycle_length: int | None
    tolerance: float
    shuffled: bool = False
    safety: float = SAFETY

    def typical(self, step: float) -> float:
        """The constant step size that is as hot."""
        length = self.cycle_length
        return step if length is None else typical_step_size(cosine_cycle(step, length))


def best_friction(measurement: Measurement, step: float, wanted: Wanted) -> dict[str, float] | None:
    """Group -> friction with which a step is honest; None if there is none.

    Args:
      measurement: of the energy.
      step: step size or peak.
      wanted: sampler, temperature, cycle and tolerance.
    """
    chosen: dict[str, float] = {}
    if wanted.sampler == "sgld":
        fits = step <= wanted.safety * stability_limit(measurement, "sgld", {})
        within = (
            _is_right(terrain, step, None, wanted) for terrain in measurement.terrain.values()
        )
        return {} if fits and all(within) else None
    for name, terrain in measurement.terrain.items():
        grid = np.geomspace(1e-4 / step, 0.5 / step, FRICTIONS)
        if terrain.softest > 0.0:  # critically damped, in the softest direction
            grid = np.append(grid, 2.0 * math.sqrt(terrain.softest))
        honest = []
        for g in map(float, grid):
            if _fits(measurement, terrain, step, g, wanted):
                honest.append((steps_to_forget(terrain, step, g, wanted), g))
        if not honest:
            return None
        chosen[name] = min(honest)[1]
    return chosen


def is_honest(
    measurement: Measurement, step: float, friction: Mapping[str, float], wanted: Wanted
) -> bool:
    """Whether a step is stable and at its temperature with a friction for each group."""
    return all(
        _fits(measurement, terrain, step, friction[name], wanted)
        for name, terrain in measurement.terrain.items()
    )


def _fits(
    measurement: Measurement, terrain: GroupTerrain, step: float, friction: float, wanted: Wanted
) -> bool:
    stable = step <= wanted.safety * sghmc_limit(measurement.largest, friction)
    return stable and _is_right(terrain, step, friction, wanted)


def _is_right(terrain: GroupTerrain, step: float, friction: float | None, wanted: Wanted) -> bool:
    T, sampler, acting, held = wanted.temperature, wanted.sampler, friction, wanted.temperature
    if sampler == "sgnht" and friction is not None:
        acting, sampler = _acting_friction(terrain, step, friction, wanted), "sghmc"
        if math.isnan(acting):
            return False
        held = friction * T / acting
    h, shuffled = wanted.typical(step), wanted.shuffled
    found = temperatures_at(terrain, sampler, h, acting, held, shuffled=shuffled)
    off = [abs(value / T - 1.0) for value in (found.kinetic, found.configurational)]
    if friction is not None and acting is not None:
        # The thermostat keeps the mean right and makes directions without gradient noise as much
        # too cold as it has to act against those that have it.
        off.append((acting / friction - 1.0) / 2.0)
    return all(math.isnan(value) or value <= wanted.tolerance for value in off)


def steps_to_forget(terrain: GroupTerrain, step: float, friction: float, wanted: Wanted) -> float:
    """Steps to forget the softest direction; where nothing holds it, less friction is better."""
    if wanted.sampler == "sgnht":
        friction = _acting_friction(terrain, step, friction, wanted)
    if terrain.softest <= 0.0:
        return friction
    return sghmc_relaxation(terrain.softest, wanted.typical(step), friction)


def _acting_friction(terrain: GroupTerrain, step: float, friction: float, wanted: Wanted) -> float:
    """Where the thermostat settles."""
    held = {"friction": friction, "temperature": wanted.temperature, "shuffled": wanted.shuffled}
    return sgnht_friction(terrain, wanted.typical(step), **held)
