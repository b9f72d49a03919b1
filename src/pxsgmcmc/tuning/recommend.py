"""Settings that the laws call honest: the largest step whose temperatures are nearly right."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from pxsgmcmc.errors import UserError, check_count, check_number
from pxsgmcmc.tuning.correlation import sghmc_relaxation
from pxsgmcmc.tuning.cycles import cosine_cycle, typical_step_size
from pxsgmcmc.tuning.laws import GroupTerrain, sghmc_limit, sgnht_friction
from pxsgmcmc.tuning.measure import Measurement
from pxsgmcmc.tuning.prediction import (
    SAMPLERS,
    Prediction,
    check_sampler,
    predict,
    stability_limit,
    temperatures_at,
)

SAFETY = 1.0 / 3.0  # share of the stability limit that a step has at most, unless told
TOLERANCE = 0.05  # share by which temperatures may be off
FRICTIONS = 24  # tried between the smallest and the largest
STEPS = 5  # tried between half of the largest step and the largest


@dataclass(frozen=True)
class Recommendation:
    """Settings for a sampler and what they will do.

    Attributes:
      sampler: "sgld", "sghmc" or "sgnht".
      step_size: constant, or the peak of a cosine cycle.
      friction: group -> friction (SGNHT's noise constant), for `plan.groups(**friction)`; empty for
        SGLD.
      temperature: of the sampler.
      cycle_length: steps of a cycle; None for a constant step size.
      prediction: temperatures, stability limit and autocorrelation times.
      larger_step: what a step twice as large would need, in a sentence.
    """

    sampler: str
    step_size: float
    friction: Mapping[str, float]
    temperature: float
    cycle_length: int | None
    prediction: Prediction
    larger_step: str

    def __repr__(self) -> str:
        """One line: wanted, temperatures, and the step size from which it is unstable."""
        return one_line(
            self.sampler, self.step_size, self.friction, self.cycle_length, self.prediction
        )


def one_line(
    sampler: str,
    step_size: float,
    friction: Mapping[str, float],
    cycle_length: int | None,
    prediction: Prediction,
) -> str:
    """Settings and what they will do, such as "SGHMC: peak 0.004, friction 25/1: T 1.04/1.08"."""
    what = "step size" if cycle_length is None else "peak"
    text = f"{SAMPLERS[sampler]}: {what} {step_size:g}"
    if friction:
        text += f", friction {'/'.join(f'{g:g}' for g in friction.values())}"
    limit = f"{prediction.limit:.2g}"
    if not prediction.stable:
        return f"{text}: unstable, stable to {limit}"
    found = prediction.temperatures.values()
    heat = [t.configurational if math.isnan(t.kinetic) else t.kinetic for t in found]
    return f"{text}: T {'/'.join(f'{T:.2f}' for T in heat)}, stable to {limit}"


def recommend(
    measurement: Measurement,
    sampler: str = "sghmc",
    *,
    temperature: float = 1.0,
    cycle_length: int | None = None,
    tolerance: float = TOLERANCE,
    shuffled: bool = False,
    safety: float = SAFETY,
) -> Recommendation:
    """A step size and friction whose temperatures are within a tolerance, that forget soonest.

    The step is between half of the largest such step and the largest, at most a share `safety` of
    the stability limit, and with its friction the one that forgets the softest direction soonest.
    Gradient noise is taken for independent from batch to batch unless `shuffled`, which is the most
    heat it can bring; what shuffling takes back shows in the prediction alone. Means over
    coordinates hide that a few stiff directions carry most of the noise and are much hotter:
    `prediction.temperatures` has that of the stiffest.

    Args:
      measurement: of the energy, by `pilot`.
      sampler: "sgld", "sghmc" or "sgnht".
      temperature: of the sampler, above 0.
      cycle_length: steps of a cosine cycle, or None for a constant step size.
      tolerance: share by which kinetic and configurational temperatures may be off.
      shuffled: whether to count on what shuffling takes back.
      safety: share of the stability limit that a step may have, below 1: curvatures elsewhere are
        not those that were measured.
    """
    check_sampler(sampler)
    T = check_number("temperature", temperature, above=0.0)
    check_number("tolerance", tolerance, above=0.0, below=1.0)
    check_number("safety", safety, above=0.0, below=1.0)
    if cycle_length is not None:
        check_count("cycle_length", cycle_length, at_least=1)
    wanted = Wanted(sampler, T, cycle_length, tolerance, shuffled, safety)
    step = _largest_step(measurement, wanted)
    if step is None:
        raise UserError(
            f"`tolerance` must leave room for a step, got {tolerance}: at no step size are the "
            "temperatures that near; measure at another position or with larger batches."
        )
    step, friction = _soonest(measurement, step, wanted)
    friction = {name: _rounded(value) for name, value in friction.items()}
    prediction = predict(
        measurement,
        sampler,
        step,
        friction=friction or None,
        temperature=T,
        cycle_length=cycle_length,
    )
    remedy = what_it_needs(measurement, _rounded_down(2.0 * step), wanted)
    return Recommendation(sampler, step, friction, T, cycle_length, prediction, remedy)


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
            fits = step <= wanted.safety * sghmc_limit(measurement.largest, g)
            if fits and _is_right(terrain, step, g, wanted):
                honest.append((_forgetting(terrain, step, g, wanted), g))
        if not honest:
            return None
        chosen[name] = min(honest)[1]
    return chosen


def what_it_needs(measurement: Measurement, step: float, wanted: Wanted) -> str:
    """A sentence on the friction or the batch size that would make a step honest."""
    what = f"A step of {step:g}"
    if friction := best_friction(measurement, step, wanted):
        values = "/".join(f"{_rounded(g):g}" for g in friction.values())
        return f"{what} needs friction {values}."
    if friction is not None:
        return f"{what} is within the tolerance."
    loosest = wanted.safety * stability_limit(measurement, wanted.sampler, {"all": 0.0})
    if step > loosest:
        return (
            f"{what} is above {wanted.safety:.2g} of the stability limit, {loosest:.2g}, at any "
            "friction and batch size."
        )
    size = measurement.batch_size
    while size < measurement.data_size:
        size = min(2 * size, measurement.data_size)
        if best_friction(with_batch_size(measurement, size), step, wanted) is not None:
            return f"{what} needs batches of {size}."
    return f"{what} is too hot at any friction and batch size."


def with_batch_size(measurement: Measurement, batch_size: int) -> Measurement:
    """What would have been measured at another batch size: noise is as 1 / B - 1 / N."""
    N, B = measurement.data_size, measurement.batch_size
    now = 1.0 / B - 1.0 / N
    factor = (1.0 / batch_size - 1.0 / N) / now if now > 0.0 else 0.0
    terrain = {
        name: one._replace(
            noise=factor * one.noise,
            stiffest_noise=factor * one.stiffest_noise,
            batches=N / batch_size,
        )
        for name, one in measurement.terrain.items()
    }
    return replace(measurement, terrain=terrain, batch_size=batch_size)


def _largest_step(measurement: Measurement, wanted: Wanted) -> float | None:
    """By halving the interval between a step that will do and one that will not."""
    high = wanted.safety * stability_limit(measurement, wanted.sampler, {"all": 0.0})
    if not math.isfinite(high):
        raise UserError(
            "`position` must be where the energy is curved upwards in some direction, got a "
            f"largest curvature of {measurement.largest:.3g}."
        )
    low = 1e-6 * high
    if best_friction(measurement, low, wanted) is None:
        return None
    if best_friction(measurement, high, wanted) is not None:
        return high
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        fits = best_friction(measurement, middle, wanted) is not None
        low, high = (middle, high) if fits else (low, middle)
    return low


def _soonest(
    measurement: Measurement, largest: float, wanted: Wanted
) -> tuple[float, dict[str, float]]:
    """The step that forgets the softest direction soonest: with less friction than the largest."""
    best: tuple[float, float, dict[str, float]] | None = None
    for step in map(_rounded_down, np.geomspace(largest, largest / 2.0, STEPS)):
        friction = best_friction(measurement, step, wanted)
        if friction is None:
            continue
        if not friction:  # SGLD has no other way to be faster
            return step, friction
        slowest = max(
            _forgetting(terrain, step, friction[name], wanted)
            for name, terrain in measurement.terrain.items()
        )
        if best is None or slowest < best[0]:
            best = slowest, step, friction
    assert best is not None, "a step that is rounded down from an honest one is honest"
    return best[1:]


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


def _forgetting(terrain: GroupTerrain, step: float, friction: float, wanted: Wanted) -> float:
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


def _rounded_down(value: float) -> float:
    """To two digits, not above."""
    digits = 1 - math.floor(math.log10(value))
    return math.floor(value * 10.0**digits * (1.0 + 1e-9)) / 10.0**digits


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")
