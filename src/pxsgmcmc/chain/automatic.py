"""Numbers in place of "auto" in a sampler: measured when a run begins, kept when it goes on."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pxsgmcmc.chain.sampling import Sampling
from pxsgmcmc.errors import UserError
from pxsgmcmc.expansion.position import groups
from pxsgmcmc.schedules import AUTO, Cyclical, cyclical
from pxsgmcmc.store import open_run
from pxsgmcmc.store.layout import MANIFEST, chain_folder
from pxsgmcmc.types import Sampler, SamplerFacts, Tree


def with_measured(
    sampling: Sampling, out: str | Path | None, *, resume: bool, say: Callable[[str], None] | None
) -> Sampling:
    """The same with a sampler that can be run; as it is if its settings are numbers.

    Args:
      sampling: what was asked for.
      out: run directory.
      resume: whether to go on with the run in it, which knows its settings.
      say: is given a line on what was measured, if anybody wants it.
    """
    facts = sampling.build(1.0).facts
    if facts is None or facts.rebuild is None:
        return sampling
    start = sampling.start(sampling.chains[0])
    names = _names(facts)
    known = _kept(sampling, Path(out), names) if resume and out is not None else None
    if known is None:
        if sampling.data is None:
            raise UserError(
                '`step_size` and `friction` can be "auto" where there are data, whose gradient '
                "noise is measured; give numbers, or use `px.adaptation`."
            )
        from pxsgmcmc.tuning.sampler_settings import measure_settings  # a room above, see DOORS

        known = measure_settings(
            facts,
            start,
            sampling.data,
            problem=sampling.problem,
            batch_size=sampling.batch_size,
            steps=sampling.collection.total_steps,
            seed=sampling.seed,
        )
        known |= {"settings": names}
        if say is not None:
            say(known["by"])
    sampler = _rebuilt(facts, start, known)
    facts_of_run = {**sampling.facts, "measured": known}
    return dataclasses.replace(sampling, build=lambda _: sampler, facts=facts_of_run)


def _names(facts: SamplerFacts) -> list[str]:
    step_size: Any = facts.step_size
    peak = step_size.peak if isinstance(step_size, Cyclical) else step_size
    values = {"step_size": peak, "friction": facts.friction}
    return [name for name, value in values.items() if isinstance(value, str) and value == AUTO]


def _kept(sampling: Sampling, out: Path, names: list[str]) -> dict[str, Any] | None:
    """What the run in a folder measured when it began; None if none has begun."""
    folder = out if len(sampling.chains) == 1 else chain_folder(out, sampling.chains[0])
    if not (folder / MANIFEST).exists():
        return None
    known = open_run(folder).manifest["origin"].get("measured")
    if not isinstance(known, dict) or not set(names) <= set(known.get("settings", ())):
        raise UserError(
            f'`{names[0]}` cannot be "auto" here: the run in `{out}` began with a number for it; '
            "give that one."
        )
    return known


def _rebuilt(facts: SamplerFacts, position: Tree, known: dict[str, Any]) -> Sampler:
    assert facts.rebuild is not None
    step_size: Any = facts.step_size
    if isinstance(step_size, Cyclical):
        if step_size.peak == AUTO:
            step_size = cyclical(known["step_size"], step_size.period, lowest=step_size.lowest)
    elif isinstance(step_size, str):
        step_size = known["step_size"]
    friction = facts.friction
    if isinstance(friction, str):
        base = known["friction"]["base"]
        friction = groups(position, base=base, factors=known["friction"].get("factors", base))
    return facts.rebuild(step_size, friction)
