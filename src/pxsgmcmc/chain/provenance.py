"""What a manifest says of how a run was made, so that its draws can be made again."""

from typing import Any

import jax
import numpy as np

from pxsgmcmc.chain.code_revision import code_revision
from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.chain.environment import deciding_settings, rounding_conditions, versions
from pxsgmcmc.chain.groups import by_group, group_values
from pxsgmcmc.errors import printable_texts
from pxsgmcmc.expansion.position import Expanded, collapse
from pxsgmcmc.tree import size
from pxsgmcmc.types import Sampler, Tree

PREVIEW = 12  # points of a schedule that a figure shows


def sampler_facts(sampler: Sampler, position: Tree) -> dict[str, Any]:
    """What the sampler was built with, by group."""
    facts = sampler.facts
    if facts is None:
        return {}
    settings = {"friction": facts.friction, "noise": facts.noise}
    return {
        "name": facts.name,
        "temperature": facts.temperature,
        "thermal_momentum": facts.thermal_momentum,
        **{
            name: group_values(value, position, name)
            for name, value in settings.items()
            if value is not None
        },
    }


def method_name(sampler: Sampler, position: Tree) -> str:
    """The sampler, and how it is expanded: "PX-SGHMC (c=1, d=1)"."""
    name = sampler.facts.name if sampler.facts is not None else "own sampler"
    if not isinstance(position, Expanded):
        return name
    layers = position.factors.values()
    c = max((len(factors.out) for factors in layers), default=0)
    d = max((len(factors.into) for factors in layers), default=0)
    return f"PX-{name} (c={c}, d={d})"


def origin_of(
    *,
    seed: int,
    chain: int,
    executor: str,
    sampler: Sampler,
    position: Tree,
    collection: Collection,
    facts: dict[str, Any],
) -> dict[str, Any]:
    """The whole record; `facts` are the caller's: the problem, the fingerprints."""
    sizes = {name: size(part) for name, part in by_group(position).items()}
    known = {
        "seed": seed,
        "chain": chain,
        "executor": executor,
        "versions": versions(),
        "rounding": rounding_conditions(),
        "settings_of_jax": deciding_settings(),
        "code": code_revision(),
        "method": method_name(sampler, position),
        "sampler": sampler_facts(sampler, position),
        "group_sizes": sizes,
        "parameters": size(jax.eval_shape(collapse, position)),
        "sampled": sum(sizes.values()),
        "collection": collection._asdict(),
        "schedule": schedule_preview(sampler, collection),
        **facts,
    }
    return printable_texts(known)  # as it will be read back


def schedule_preview(sampler: Sampler, collection: Collection) -> dict[str, Any]:
    """Step sizes at some steps, for figures: over one period, or over the whole run."""
    if sampler.facts is None:
        return {}
    schedule = sampler.facts.step_size
    period = getattr(schedule, "period", None)
    length = collection.total_steps if period is None else period
    at = sorted({round(i * (length - 1) / max(1, PREVIEW - 1)) for i in range(PREVIEW)})
    return {
        "period": period,
        "offset": collection.schedule_offset(period),
        "at": at,
        "values": [float(schedule(np.int32(step))) for step in at],
    }
