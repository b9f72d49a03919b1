"""Settings that a sampler made in Python calls "auto": measured where chain 0 will be."""

from typing import Any

from pxsgmcmc.chain.groups import group_values
from pxsgmcmc.errors import UserError, one_line
from pxsgmcmc.problem import Problem
from pxsgmcmc.schedules import AUTO, Cyclical
from pxsgmcmc.tuning.automatic import SETTLE, chosen_settings, pilot_ahead
from pxsgmcmc.tuning.prediction import SAMPLERS
from pxsgmcmc.types import Batch, SamplerFacts, Tree


def measure_settings(
    facts: SamplerFacts,
    start: Tree,
    data: Batch,
    *,
    problem: Problem | None,
    batch_size: int,
    steps: int,
    seed: int,
) -> dict[str, Any]:
    """Step size (or peak) and friction by group, and a line on where they come from.

    Args:
      facts: of a sampler that is not to be run before.
      start: of chain 0.
      data: a tree of arrays whose leading axis counts rows.
      problem: which may augment batches.
      batch_size: rows a step sees.
      steps: of the whole chain, of which the pilot takes no more.
      seed: of the run.
    """
    tag = next(tag for tag, name in SAMPLERS.items() if name == facts.name)
    peak, cycle_length = _peak(facts.step_size)
    friction = _by_group(facts.friction, start)
    steps = min(SETTLE, steps)
    measured = pilot_ahead(
        facts.potential,
        start,
        data,
        problem=problem,
        steps=steps,
        cycle_length=cycle_length,
        batch_size=batch_size,
        temperature=facts.temperature,
        seed=seed,
    )
    found, by_group = chosen_settings(measured, tag, peak, friction)
    line = measured.describe(tag, found, by_group or None).partition("\n")[0]
    return {
        "step_size": found,
        "friction": by_group,
        "by": f"pilot {steps:,} steps from the start of chain 0: {line}",
    }


def _peak(step_size: Any) -> tuple[float | None, int | None]:
    """The number that is given, None if it is to be found; and the steps of a cycle."""
    cyclical = isinstance(step_size, Cyclical)
    peak = step_size.peak if cyclical else step_size
    if callable(peak):
        raise UserError(
            '`step_size` must be a number, "auto" or `px.cyclical` where friction is "auto", got '
            f"{one_line(peak)}."
        )
    return None if peak == AUTO else float(peak), step_size.period if cyclical else None


def _by_group(friction: Any, position: Tree) -> dict[str, float] | None:
    if friction is None or isinstance(friction, str):
        return None
    values = group_values(friction, position, "friction")
    known = {name: value for name, value in values.items() if value is not None}
    if len(known) < len(values):
        raise UserError(
            "`friction` must be one number, or one for each of `px.groups`, where the step size is "
            f'"auto", got {one_line(friction)}.'
        )
    return known
