"""Chains under way as the host knows them, and which steps the device is given next."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pxsgmcmc.chain.averages import Averages
from pxsgmcmc.chain.batches import Batches
from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.chain.divergence import DivergenceWatch
from pxsgmcmc.chain.record import MemoryRecord
from pxsgmcmc.store import StoredRun

Record = StoredRun | MemoryRecord


class Pace(NamedTuple):
    """How often the host looks at the device."""

    chunk_seconds: float
    checkpoint_seconds: float
    retries: int


@dataclass
class ChainUnderWay:
    """One chain under way, as the host knows it."""

    record: Record
    batches: Batches
    watch: DivergenceWatch
    step: int = 0  # steps that were looked at
    drawn: int = 0
    launched: int = 0  # steps that the device was given
    draws_launched: int = 0
    since_draw: Averages = field(default_factory=Averages)
    since_log: Averages = field(default_factory=Averages)


class Chunk(NamedTuple):
    """Steps that the device was given, and what it will have found after them."""

    first: int
    steps: int
    moving: list[int]  # places of the chains that take these steps
    began: float
    took: float | None  # seconds, if it had run when the call came back
    looked_at: Any  # sums and norms
    params: Any | None  # collapsed, if a draw is due
    state: Any | None  # a copy, if it is to be saved


def next_steps(
    chains: Sequence[ChainUnderWay], collection: Collection, most: int
) -> tuple[int, int, list[int]]:
    """The first of at most so many steps towards the next draw, their number, and who takes them.

    After a crash in the middle of saving, some chains may be ahead of others: these wait.
    """
    todo = [p for p, chain in enumerate(chains) if chain.draws_launched < collection.draws]
    first = min(chains[place].launched for place in todo)
    moving = [place for place in todo if chains[place].launched == first]
    target = collection.step_of(chains[moving[0]].draws_launched + 1)
    target = min([target, *(chain.launched for chain in chains if chain.launched > first)])
    return first, min(most, target - first), moving
