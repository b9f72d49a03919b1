"""Settings that the laws call honest: the largest step whose temperatures are nearly right."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from pxsgmcmc.errors import UserError, check_count, check_number
from pxsgmcmc.tuning.honest import (
    SAFETY,
    TOLERANCE,
    Wanted,
    best_friction,
    is_honest,
    steps_to_forget,
)
from pxsgmcmc.tuning.measure import Measurement
from pxsgmcmc.tuning.prediction import (
    SAMPLERS,
    Prediction,
    check_sampler,
    predict,
    stability_limit,
)

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


def what_it_needs(
    measurement: Measurement,
    step: float,
    wanted: Wanted,
    given: Mapping[str, float] | None = None,
) -> str:
    """A sentence on the friction or the batch size that would make a step honest.

    Args:
      measurement: of the energy.
      step: step size or peak.
      wanted: sampler, temperature, cycle and tolerance.
      given: group -> friction that is set already.
    """
    what = f"A step of {step:g}"
    if friction := best_friction(measurement, step, wanted):
        values, has = (
            "/".join(f"{_rounded(g):g}" for g in by_group.values())
            for by_group in (friction, given or {})
        )
        if values == has:
            return f"{what} is within the tolerance."
        if given and is_honest(measurement, step, given, wanted):
            return (
                f"{what} is within the tolerance with friction {has}; with {values} the chain "
                "forgets soonest."
            )
        return f"{what} needs friction {values}."
    if friction is not None:
        return f"{what} is within the tolerance."
    loosest = wanted.safety * stability_limit(measurement, wanted.sampler, {"all": 0.0})
    if step > loosest:
        # What depends on the curvature alone: gradient noise has no part in it.
        share = "a third" if wanted.safety == SAFETY else f"{wanted.safety:.2g}"
        return (
            f"{what} is above {loosest:.2g}, {share} of the stability limit, whatever the "
            f"{'friction and the ' if wanted.sampler != 'sgld' else ''}batch size."
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
            steps_to_forget(terrain, step, friction[name], wanted)
            for name, terrain in measurement.terrain.items()
        )
        if best is None or slowest < best[0]:
            best = slowest, step, friction
    assert best is not None, "a step that is rounded down from an honest one is honest"
    return best[1:]


def _rounded_down(value: float) -> float:
    """To two digits, not above."""
    digits = 1 - math.floor(math.log10(value))
    return math.floor(value * 10.0**digits * (1.0 + 1e-9)) / 10.0**digits


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")
