"""What the indexes, logs and states of the chains of a run say, taken together."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pxsgmcmc.tree import from_arrays

_WORST_FIRST = ("diverged", "interrupted", "running", "done")


def by_chain(run: Any, field: str) -> np.ndarray:
    """One number of each draw from its line of the index, (chains, draws).

    Cut to the shortest chain, so that rows have one length; NaN where the line does not say it.
    """
    rows = [
        [getattr(draw, field, draw.facts.get(field)) for draw in run.index(chain)]
        for chain in range(run.chains)
    ]
    shortest = min(map(len, rows))
    return np.array([row[:shortest] for row in rows], float)


def log_of(records: Sequence[Any]) -> list[dict[str, Any]]:
    """The lines of all logs, each with the number of its chain."""
    return [
        {"chain": chain, **line}
        for chain, record in enumerate(records)
        for line in record.read_log()
    ]


def worst_status(records: Sequence[Any]) -> str:
    """That of the chain that is worst off."""
    return min((record.status for record in records), key=_WORST_FIRST.index)


def saved_states(records: Sequence[Any], like: Any) -> list[Any]:
    """The last saved state of each chain that has one, shaped like `like`."""
    saved = [(record, record.load_state()) for record in records]
    return [
        from_arrays(state.arrays, like, f"The state of `{record.path}`")
        for record, state in saved
        if state is not None
    ]
