"""Settings that a configuration calls "auto": measured where chain 0 will be, when a run begins."""

import math
from typing import Any

import numpy as np
from msgspec.structs import replace

from pxsgmcmc.config.build import Built
from pxsgmcmc.config.sampler_sections import AUTO, AnySampler, CyclicalSettings, Groups
from pxsgmcmc.config.schema import Config, Measured
from pxsgmcmc.config.validate import automatic_settings
from pxsgmcmc.errors import UserError
from pxsgmcmc.problem import Problem
from pxsgmcmc.tuning.flat_energy import FlatEnergy
from pxsgmcmc.tuning.honest import SAFETY, TOLERANCE, Wanted, best_friction
from pxsgmcmc.tuning.pilot import Pilot, pilot_along
from pxsgmcmc.tuning.prediction import stability_limit
from pxsgmcmc.tuning.settle import settle
from pxsgmcmc.types import Batch, Potential, Tree

SETTLE = 1000  # steps of a cautious chain before measuring; fewer if the run itself is shorter
MEASURED = 3  # of its positions
ROWS = 1000  # over which curvatures are taken at most


def measured_config(built: Built) -> Config:
    """The configuration with numbers in place of "auto", and a word on where they come from.

    Args:
      built: the parts of a configuration that has settings to be measured. The start of chain 0 is
        made, with its warm start.
    """
    return filled_config(built.config, measure_there(built))


def measure_there(built: Built) -> Pilot:
    """A pilot where a cautious chain leads.

    Args:
      built: the parts of a configuration. The start of chain 0 is made, with its warm start.
    """
    config, chain = built.config, built.config.chain
    step_size = config.sampler.step_size
    cycle_length = None
    if isinstance(step_size, CyclicalSettings):
        cycle_length = step_size.period or chain.cycle_length
    return pilot_ahead(
        built.potential,
        built.position(0),
        tuple(built.problem.train),
        problem=built.problem,
        steps=settling_steps(config),
        cycle_length=cycle_length,
        batch_size=chain.batch_size,
        temperature=getattr(config.sampler, "temperature", 1.0),
        seed=config.seed,
    )


def pilot_ahead(
    potential: Potential,
    start: Tree,
    data: Batch,
    *,
    problem: Problem | None,
    steps: int,
    cycle_length: int | None,
    **there: Any,
) -> Pilot:
    """A pilot where a cautious chain leads.

    Args:
      potential: energy of (position, batch).
      start: of the chain.
      data: a tree of arrays whose leading axis counts rows.
      problem: which may augment batches.
      steps: of the cautious chain.
      cycle_length: of a cosine cycle; None for a constant step size.
      there: batch size, temperature and seed.
    """
    if problem is not None and problem.augment is not None:
        there["transform_batch"] = problem.transform_batch
    energy = FlatEnergy(potential, start)
    visited = settle(energy, start, data, steps=steps, **there).visited
    return pilot_along(
        energy, visited[:MEASURED], data, rows=ROWS, cycle_length=cycle_length, **there
    )


def settling_steps(config: Config) -> int:
    """Steps before measuring."""
    chain = config.chain
    return min(SETTLE, chain.burn_in + chain.draws * chain.cycle_length)


def filled_config(config: Config, measured: Pilot) -> Config:
    """The configuration with what follows from a pilot in place of "auto"."""
    tag, steps = str(config.sampler.__struct_config__.tag), settling_steps(config)
    given = _given(measured, config.sampler)
    peak, friction = chosen_settings(measured, tag, *given, section="sampler.")
    by = f"pilot {steps:,} steps from the start of chain 0: "
    by += measured.describe(tag, peak, friction or None).partition("\n")[0]
    return replace(
        config,
        sampler=_filled(config.sampler, peak, friction),
        measured=Measured(settings=tuple(automatic_settings(config)), by=by),
    )


def _given(measured: Pilot, sampler: AnySampler) -> tuple[float | None, dict[str, float] | None]:
    """Step size or peak, and friction by group; None for what is to be measured."""
    step_size, friction = sampler.step_size, getattr(sampler, "friction", AUTO)
    peak = step_size.peak if isinstance(step_size, CyclicalSettings) else step_size
    by_group = {
        name: float(getattr(friction, name) if isinstance(friction, Groups) else friction)
        for name in (measured.measurement.terrain if friction != AUTO else ())
    }
    return None if peak == AUTO else float(peak), by_group or None


def chosen_settings(
    measured: Pilot,
    tag: str,
    peak: float | None,
    friction: dict[str, float] | None,
    *,
    section: str = "",
) -> tuple[float, dict[str, float]]:
    """Step size or peak, and friction by group, where one of them may be given.

    Args:
      measured: the pilot.
      tag: name of the sampler.
      peak: step size or peak; None if it is to be found.
      friction: by group; None if it is to be found, or the sampler has none.
      section: of the settings in a configuration, for messages.
    """
    if friction is None and peak is None:
        found = measured.recommend(tag)
        return found.step_size, dict(found.friction)
    if friction is None:
        assert peak is not None
        return peak, _friction_at(measured, tag, peak, section)
    return _step_with(measured, tag, friction, section), friction


def _friction_at(measured: Pilot, tag: str, step: float, section: str) -> dict[str, float]:
    """The friction that forgets soonest at a step size that is given."""
    wanted = Wanted(tag, measured.temperature, measured.cycle_length, TOLERANCE)
    friction = best_friction(measured.measurement, step, wanted)
    if friction is None:
        largest = measured.recommend(tag).step_size
        raise UserError(
            f"`{section}step_size` must be one that some friction makes honest, got {step:g}; one "
            f"of {largest:g} is."
        )
    return {name: float(f"{value:.2g}") for name, value in friction.items()}


def _step_with(measured: Pilot, tag: str, friction: dict[str, float], section: str) -> float:
    """The largest step size that is honest with a friction that is given, to two digits."""
    limit = SAFETY * stability_limit(measured.measurement, tag, friction)
    if not math.isfinite(limit):
        raise UserError(
            f"`{section}step_size` cannot be measured where the energy is flat; give a number."
        )
    for step in np.geomspace(limit, 1e-4 * limit, 200):
        predicted = measured.predict(tag, float(step), friction)
        seen = [
            abs(value / measured.temperature - 1.0)
            for heat in predicted.temperatures.values()
            for value in (heat.kinetic, heat.configurational)
            if not math.isnan(value)
        ]
        if predicted.stable and max(seen, default=0.0) <= TOLERANCE:
            return float(f"{step:.2g}")
    raise UserError(
        f"`{section}friction` = {friction} leaves no step size whose temperatures are right; let "
        'it be "auto" too.'
    )


def _filled(sampler: AnySampler, peak: float, friction: dict[str, float]) -> AnySampler:
    """The section with numbers."""
    step_size = sampler.step_size
    cyclical = isinstance(step_size, CyclicalSettings)
    changes: dict[str, Any] = {"step_size": replace(step_size, peak=peak) if cyclical else peak}
    if getattr(sampler, "friction", None) == AUTO:
        one = friction["base"] if set(friction) == {"base"} else None
        changes["friction"] = one if one is not None else Groups(**friction)
    return replace(sampler, **changes)
