"""Which run this is, in words: what tables and reports call it."""

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from pxsgmcmc.config import Config, write_config
from pxsgmcmc.config.schema import Evaluate
from pxsgmcmc.experiment import Experiment
from pxsgmcmc.results import Subject
from pxsgmcmc.store import Run
from pxsgmcmc.tree import size
from pxsgmcmc.types import Tree

_SPELT = {"psgld": "pSGLD"}  # the others are capitals
# What changes neither the law of a draw nor how many there are.
_INCIDENTAL = {
    "executor": "auto",
    "chunk_seconds": 1.0,
    "checkpoint_seconds": 10.0,
    "keep_data": "auto",
    "tensorboard": None,
}


def subject_of(config: Config, runs: Sequence[Run], experiment: Experiment, like: Tree) -> Subject:
    """What results say they are about."""
    return Subject(
        method=method_name(config),
        settings=settings_digest(config, len(runs)),
        data=_data(config),
        model=", ".join([_tag(config.model), *_spelt(config.model)]),
        seed=config.seed,
        chains=len(runs),
        draws=sum(len(run.draws) for run in runs),
        steps=max(draw.step for run in runs for draw in run.draws[-1:]),
        parameters=size(like),
        sampled=size(experiment.position),
        version=runs[0].manifest["version"],
    )


def method_name(config: Config) -> str:
    """The sampler, and how it is expanded.

    Example:
      >>> from pxsgmcmc.config.schema import MLP, SGLD, Chain, Data, Expansion
      >>> chain = Chain(draws=1, steps=1, batch_size=1)
      >>> config = Config(data=Data(name="digits"), model=MLP(), sampler=SGLD(step_size=0.1),
      ...     chain=chain, expansion=Expansion(out=1, into=2))
      >>> method_name(config)
      'PX-SGLD (c=1, d=2)'
    """
    name = _SPELT.get(_tag(config.sampler), _tag(config.sampler).upper())
    asked = config.expansion
    if not (asked.out or asked.into):
        return name
    notes = [f"c={asked.out}", f"d={asked.into}"]
    if asked.rank is not None:
        notes.append(f"rank {asked.rank}" + " of the width" * isinstance(asked.rank, float))
    notes += ["on input"] * asked.input + ["on logits"] * asked.logits
    notes += ["frozen factors"] * asked.frozen + ["exact prior"] * config.prior.exact
    return f"PX-{name} ({', '.join(notes)})"


def settings_digest(config: Config, chains: int) -> str:
    """Eight digits that two runs share if they differ in their seed alone, or in nothing."""
    replace = msgspec.structs.replace
    bare = replace(
        config,
        seed=0,
        chains=chains,
        threads=2,
        evaluate=Evaluate(),
        data=replace(config.data, root=None),
        chain=replace(config.chain, **_INCIDENTAL),
    )
    return hashlib.sha256(write_config(bare).encode()).hexdigest()[:8]


def _tag(section: msgspec.Struct) -> str:
    return str(section.__struct_config__.tag)


def _spelt(section: msgspec.Struct) -> list[str]:
    """The numbers among its settings: "depth 8", "widths 64-64"."""
    return [
        f"{name} {_short(value)}"
        for name, value in msgspec.structs.asdict(section).items()
        if not isinstance(value, str)
    ]


def _short(value: Any) -> str:
    return "-".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _data(config: Config) -> str:
    notes = [] if config.data.limit is None else [f"first {config.data.limit} rows"]
    notes += ["augmented"] * config.data.augment
    return config.data.name + (f" ({', '.join(notes)})" if notes else "")
