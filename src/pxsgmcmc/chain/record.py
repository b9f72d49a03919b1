"""A chain that is kept in this process's memory, with the face of a run directory."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pxsgmcmc.store import Draw, SavedState


class MemoryRecord:
    """Keeps what a run directory keeps, as long as the process lives.

    Args:
      config: the settings as TOML.
      origin: what is known at the start.
    """

    path: Path | None = None

    def __init__(self, config: str, origin: dict[str, Any]):
        self.config = config
        self.status = "running"
        self.draws: list[Draw] = []
        self.notes: list[str] = []
        self._origin = origin
        self._progress: dict[str, Any] = {}
        self._arrays: list[dict[str, np.ndarray]] = []
        self._log: list[dict[str, Any]] = []
        self._state: SavedState | None = None

    @property
    def manifest(self) -> dict[str, Any]:
        """As a run directory has it."""
        return {"origin": self._origin, "status": self.status, "progress": self._progress}

    def commit_draw(
        self, arrays: dict[str, np.ndarray], *, step: int, energy: float | None = None, **facts: Any
    ) -> None:
        """Keep a draw."""
        number = len(self.draws) + 1
        self.draws.append(Draw(number, "", 0, "", step, energy, facts))
        self._arrays.append(arrays)

    def load_draw(self, number: int) -> dict[str, np.ndarray]:
        """The arrays of a draw, counted from 1."""
        return self._arrays[number - 1]

    def commit_state(self, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
        """Keep what is needed to go back here."""
        self._state = SavedState(arrays, meta, len(self.draws), 0, [])
        self._logged = len(self._log)

    def load_state(self) -> SavedState | None:
        """The last kept state."""
        return self._state

    def rewind(self) -> SavedState | None:
        """Go back to the last kept state, if there is one."""
        if self._state is not None:
            del self.draws[self._state.draws :], self._arrays[self._state.draws :]
            del self._log[self._logged :]
        return self._state

    def append_log(self, facts: Mapping[str, Any]) -> None:
        """Add one line to the log."""
        self._log.append(dict(facts))

    def read_log(self) -> Iterator[dict[str, Any]]:
        """The lines of the log, in order."""
        return iter(self._log)

    def update(self, status: str | None = None, **progress: Any) -> None:
        """Note how the run stands."""
        self.status = status or self.status
        self._progress.update(progress)

    def close(self) -> None:
        """Nothing to free."""
