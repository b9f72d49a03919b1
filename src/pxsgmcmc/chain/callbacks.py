"""Functions of the user's own that are told what a chain does, and cannot hurt it."""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from pxsgmcmc.errors import UserError, one_line, printable


class Event(NamedTuple):
    """What a callback is told.

    Attributes:
      kind: "chunk" for a line of the log, every second or so; "draw" for a draw that was kept.
      chain: its number.
      step: steps taken so far.
      facts: of a chunk, the line of the log: energy, step_size, temperature by group, norm,
        steps_per_second, draws, all_draws, total_steps; of a draw, what the index has of it:
        energy, mean_energy, temperature, acceptance.
      number: of the draw in its chain, from 1; of a chunk, the draws kept so far.
      weights: of a draw by name, read-only; empty for a chunk.
    """

    kind: Literal["chunk", "draw"]
    chain: int
    step: int
    facts: dict[str, Any]
    number: int
    weights: Mapping[str, np.ndarray]


Callback = Callable[[Event], Any]


def check_callbacks(callbacks: Any) -> None:
    """Refuse what cannot be called."""
    if callable(callbacks) or not isinstance(callbacks, Sequence):
        raise UserError(
            f"`callbacks` must be a list of functions of an event, got {one_line(callbacks)}."
        )
    for callback in callbacks:
        if not callable(callback):
            raise UserError(f"`callbacks` must hold functions, got {one_line(callback)}.")


def watched(
    records: Sequence[Any],
    chains: Sequence[int],
    callbacks: Sequence[Callback],
    say: Callable[[str], None],
) -> list[Any]:
    """Records of these chains that tell callbacks what they keep; as they are if there are none."""
    if not callbacks:
        return list(records)
    return [
        WatchedRecord(record, chain, callbacks, say)
        for record, chain in zip(records, chains, strict=True)
    ]


class WatchedRecord:
    """A record of a chain that tells callbacks what it keeps; all else is the record's own.

    Args:
      record: where the chain keeps its draws.
      chain: its number.
      callbacks: who is told, after it was kept.
      say: who is told, once, that a callback failed; the chain goes on.
    """

    def __init__(
        self, record: Any, chain: int, callbacks: Sequence[Callback], say: Callable[[str], None]
    ):
        self._record, self._chain, self._say = record, chain, say
        self._callbacks, self._failed = callbacks, set[int]()

    def __getattr__(self, name: str) -> Any:
        """What the record has."""
        return getattr(self._record, name)

    def append_log(self, facts: Mapping[str, Any]) -> None:
        """Add one line to the log."""
        self._record.append_log(facts)
        self._tell("chunk", facts["step"], facts, facts["draws"], {})

    def commit_draw(
        self, arrays: dict[str, np.ndarray], *, step: int, energy: float | None = None, **facts: Any
    ) -> None:
        """Keep a draw."""
        self._record.commit_draw(arrays, step=step, energy=energy, **facts)
        draw_facts = {"step": step, "energy": energy, **facts}
        self._tell("draw", step, draw_facts, len(self._record.draws), arrays)

    def _tell(
        self,
        kind: Literal["chunk", "draw"],
        step: int,
        facts: Mapping[str, Any],
        number: int,
        weights: Mapping[str, np.ndarray],
    ) -> None:
        for place, callback in enumerate(self._callbacks):
            own = copy.deepcopy(dict(facts)), number, _read_only(weights)
            try:
                callback(Event(kind, self._chain, step, *own))
            except Exception as error:
                if place not in self._failed:
                    self._failed.add(place)
                    name = printable(getattr(callback, "__name__", type(callback).__name__), 60)
                    self._say(
                        f"The callback {name!r} failed and the chain goes on; this is said once: "
                        f"{type(error).__name__}{_words(error)}"
                    )


def _read_only(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    views = {name: array.view() for name, array in arrays.items()}
    for view in views.values():
        view.flags.writeable = False
    return views


def _words(error: Exception) -> str:
    """What an error says of itself, if it can."""
    try:
        return f": {printable(error, 200)}"
    except Exception:  # its `__str__` is other people's, too
        return ""
