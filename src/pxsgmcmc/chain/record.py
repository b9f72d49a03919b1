"""Where a chain keeps its draws: a run directory, or this process's memory."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.predict import LogitFile, Predictive, predict
from pxsgmcmc.store import Draw, Run, SavedState
from pxsgmcmc.tree import paths
from pxsgmcmc.types import Array, Tree


def to_arrays(tree: Tree) -> dict[str, np.ndarray]:
    """Name -> array on the host."""
    return dict(zip(paths(tree), map(np.asarray, jax.tree.leaves(tree)), strict=True))


def from_arrays(arrays: Mapping[str, np.ndarray], like: Tree, what: str) -> Tree:
    """The tree shaped like `like` with the arrays named so; `what` names it in an error."""
    leaves, names = [], paths(like)
    if strangers := sorted(set(arrays) - set(names)):
        raise CorruptRun(f"{what} does not fit this model: it has {strangers[0]!r} too many.")
    for name, leaf in zip(names, jax.tree.leaves(like), strict=True):
        found = arrays.get(name)
        if found is None or found.shape != leaf.shape or found.dtype != leaf.dtype:
            had = "nothing" if found is None else f"{found.dtype}{list(found.shape)}"
            raise CorruptRun(
                f"{what} does not fit this model: {name!r} should be "
                f"{leaf.dtype}{list(leaf.shape)}, it has {had}."
            )
        leaves.append(jnp.asarray(found))
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


class Memory:
    """Keeps what a `Run` keeps, as long as the process lives."""

    path: Path | None = None

    def __init__(self) -> None:
        self.status = "running"
        self.draws: list[Draw] = []
        self.progress: dict[str, Any] = {}
        self._arrays: list[dict[str, np.ndarray]] = []
        self._state: SavedState | None = None

    def commit_draw(
        self, arrays: dict[str, np.ndarray], *, step: int, energy: float | None = None
    ) -> None:
        """Keep a draw."""
        number = len(self.draws) + 1
        self.draws.append(Draw(number, "", 0, "", step, energy, {}))
        self._arrays.append(arrays)

    def load_draw(self, number: int) -> dict[str, np.ndarray]:
        """The arrays of a draw, counted from 1."""
        return self._arrays[number - 1]

    def commit_state(self, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
        """Keep what is needed to go back here."""
        self._state = SavedState(arrays, meta, len(self.draws), 0, [])

    def rewind(self) -> SavedState | None:
        """Go back to the last kept state, if there is one."""
        if self._state is not None:
            del self.draws[self._state.draws :], self._arrays[self._state.draws :]
        return self._state

    def append_log(self, facts: Mapping[str, Any]) -> None:
        """Nothing: progress was shown."""

    def update(self, status: str | None = None, **progress: Any) -> None:
        """Note how the run stands."""
        self.status = status or self.status
        self.progress.update(progress)

    def close(self) -> None:
        """Nothing to free."""


class Samples:
    """The draws of one chain, collapsed: `samples[0]` is the first, as the model's parameters.

    Draws of a run directory are read when asked for, one at a time.

    Attributes:
      status: "done", "interrupted" or "diverged".
      path: of the run directory, None for a chain kept in memory.
      state: of the sampler at the end.
      apply: the network, if `sample` was told.
      stopped_by: the signal that stopped it, None otherwise.
    """

    def __init__(
        self,
        record: Run | Memory,
        like: Tree,
        state: Any,
        stopped_by: int | None = None,
        apply: Callable[[Tree, Array], Array] | None = None,
    ):
        self._record, self._like = record, like
        self.status, self.path, self.state = record.status, record.path, state
        self.stopped_by, self.apply = stopped_by, apply

    def __len__(self) -> int:
        """How many draws there are."""
        return len(self._record.draws)

    def __getitem__(self, index: int) -> Tree:
        """One draw, from 0; negative numbers count from the end."""
        number = range(1, len(self) + 1)[index]
        return from_arrays(self._record.load_draw(number), self._like, f"Draw {number}")

    def __iter__(self) -> Iterator[Tree]:
        """Every draw in order."""
        return (self[i] for i in range(len(self)))

    def predict(
        self, x: Any, *, batch_size: int = 1000, logits: LogitFile | None = None
    ) -> Predictive:
        """What the draws predict together, one in memory at a time.

        Args:
          x: inputs as `apply` takes them, (data, ...).
          batch_size: inputs at a time on the device.
          logits: keep each draw's logits in this file.
        """
        if self.apply is None:
            raise UserError("`predict` needs the network: pass `apply=` to `sample`.")
        return predict(self.apply, self, x, batch_size=batch_size, logits=logits)

    @property
    def energies(self) -> np.ndarray:
        """The energy reported at each draw, (draws,)."""
        return np.array([draw.energy for draw in self._record.draws], float)

    @property
    def steps(self) -> np.ndarray:
        """The steps taken at each draw, (draws,)."""
        return np.array([draw.step for draw in self._record.draws])
