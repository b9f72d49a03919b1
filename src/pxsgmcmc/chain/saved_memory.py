"""What a chain keeps in a saved state besides arrays, read back with its types checked."""

from typing import Any

import msgspec

from pxsgmcmc.chain.averages import Averages
from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.errors import CorruptRun


class Watched(msgspec.Struct):
    """What was seen of energy and norm."""

    largest_energy: float | None
    first_norm: float | None


class SavedMemory(msgspec.Struct):
    """The memory of a chain: where it was set back, what was watched, sums since the last draw."""

    retried: list[dict[str, int | float]]
    watch: Watched
    since_draw: Averages


def read_memory(meta: dict[str, Any]) -> SavedMemory:
    """The memory in a saved state; whoever sealed the file may have put anything there."""
    try:
        return msgspec.convert(meta, SavedMemory)
    except msgspec.ValidationError as error:
        raise CorruptRun(f"The saved state is not one of a chain: {error}.") from error


def check_place(step: int, drawn: int, collection: Collection) -> int:
    """Return `step` if a chain that has made so many draws can be there."""
    first = collection.step_of(drawn) if drawn else 0
    if not first <= step < collection.step_of(drawn + 1):
        raise CorruptRun(f"The saved state is at step {step}, which does not fit {drawn} draws.")
    return step
