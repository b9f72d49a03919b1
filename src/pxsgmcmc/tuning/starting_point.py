"""Where a search begins: what the pilot recommends, or what the configuration says."""

import dataclasses
import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from msgspec.structs import replace

from pxsgmcmc.config import Config
from pxsgmcmc.config.build import Built, build
from pxsgmcmc.config.sampler_sections import AUTO, SGHMC, SGLD, SGNHT, CyclicalSettings
from pxsgmcmc.config.validate import automatic_settings
from pxsgmcmc.errors import Diverged, UserError
from pxsgmcmc.problem import Problem
from pxsgmcmc.tuning.automatic import filled_config, measure_there
from pxsgmcmc.tuning.prediction import friction_by_group, stability_limit


class StartingPoint(NamedTuple):
    """Settings to try first.

    Attributes:
      config: with numbers for everything.
      where_from: them, in a sentence.
      stable_to: the step size from which instability is predicted; None if that is not known.
      seconds_per_step: a gradient takes at least.
      seconds_to_start: that building and compiling took, as it does in every trial.
      problem: what is sampled, without test rows.
    """

    config: Config
    where_from: str
    stable_to: float | None
    seconds_per_step: float
    seconds_to_start: float
    problem: Problem


def starting_point(config: Config, problem: Problem | None = None) -> StartingPoint:
    """Measure where chain 0 will be, and take the step size and friction that follow.

    Args:
      config: what is tuned. Samplers whose law is not known begin at their own numbers.
      problem: in place of the one that the configuration names.
    """
    began = time.monotonic()
    built = build(config, blind=True, problem=problem)
    if built.problem.validation is None:
        raise UserError(
            "`tune` needs a validation split to choose settings on: give `data.validation`, files "
            "or a fraction of the training rows such as 0.2 (in Python, `validation` of the "
            "problem)."
        )
    seconds = _seconds_per_step(built)
    to_start = time.monotonic() - began
    asked = _asking(config)
    if asked is None:
        why = "the settings of the configuration"
        return StartingPoint(config, why, None, seconds, to_start, built.problem)
    try:
        measured = measure_there(dataclasses.replace(built, config=asked))
        found = filled_config(asked, measured)
    except (Diverged, UserError) as error:
        if automatic_settings(config):
            raise
        why = f"the settings of the configuration, since the pilot found none: {error}"
        return StartingPoint(config, why, None, seconds, to_start, built.problem)
    tag = str(found.sampler.__struct_config__.tag)
    friction = getattr(found.sampler, "friction", None)
    if friction is not None and not isinstance(friction, float):
        friction = {"base": friction.base, "factors": friction.factors}
    limit = stability_limit(
        measured.measurement, tag, friction_by_group(measured.measurement, tag, friction)
    )
    assert found.measured is not None
    return StartingPoint(
        replace(found, measured=None), found.measured.by, limit, seconds, to_start, built.problem
    )


def _asking(config: Config) -> Config | None:
    """The configuration with "auto" for step size and friction, where these can be measured."""
    sampler = config.sampler
    if not isinstance(sampler, SGLD | SGHMC | SGNHT) or not sampler.temperature:
        return None
    if config.expansion.frozen or sampler.noise != 1.0:
        return None
    step_size = sampler.step_size
    step_size = replace(step_size, peak=AUTO) if isinstance(step_size, CyclicalSettings) else AUTO
    changes: dict[str, Any] = {"step_size": step_size}
    if not isinstance(sampler, SGLD):
        changes["friction"] = AUTO
    return replace(config, sampler=replace(sampler, **changes))


def _seconds_per_step(built: Built) -> float:
    """Of a gradient on a batch, the fastest of three: a step takes at least that."""
    size = built.config.chain.batch_size
    batch = tuple(jnp.asarray(part[:size]) for part in built.problem.train)
    gradient, position = jax.jit(jax.grad(built.potential)), built.position(0)
    jax.block_until_ready(gradient(position, batch))  # the first call compiles
    times = []
    for _ in range(3):
        began = time.monotonic()
        jax.block_until_ready(gradient(position, batch))
        times.append(time.monotonic() - began)
    return max(1e-6, min(times))
