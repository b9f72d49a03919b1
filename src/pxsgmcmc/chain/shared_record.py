"""Records of a chain that several processes run: the first one writes, the others follow."""

from typing import Any

import msgspec
import numpy as np

from pxsgmcmc.chain.process_group import share_bytes
from pxsgmcmc.chain.record import MemoryRecord
from pxsgmcmc.errors import UserError
from pxsgmcmc.store import Draw, SavedState


class _Array(msgspec.Struct):
    dtype: str
    shape: tuple[int, ...]
    content: bytes


class _Saved(msgspec.Struct):
    """A saved state on its way to the other processes."""

    arrays: dict[str, _Array]
    meta: dict[str, Any]
    draws: int


class SharedRecord:
    """The record of the first process, which tells the others where to go on from.

    Args:
      record: where the chain is kept.
    """

    def __init__(self, record: Any):
        self._record = record

    def __getattr__(self, name: str) -> Any:
        """What the record has."""
        return getattr(self._record, name)

    def rewind(self) -> SavedState | None:
        """Go back to the last saved state, if there is one, and take the others along."""
        saved = self._record.rewind()
        sent = None
        if saved is not None:
            arrays = {
                name: _Array(array.dtype.str, array.shape, array.tobytes())
                for name, array in saved.arrays.items()
            }
            sent = _Saved(arrays, saved.meta, saved.draws)
        share_bytes(msgspec.msgpack.encode(sent))
        return saved


class FollowingRecord(MemoryRecord):
    """The record of another process: it counts what the first one keeps.

    Its arguments are those of `MemoryRecord`.
    """

    def rewind(self) -> SavedState | None:
        """Where the first process goes on from."""
        sent = msgspec.msgpack.decode(share_bytes(b""), type=_Saved | None)
        if sent is None:
            return None
        arrays = {
            name: np.frombuffer(one.content, np.dtype(one.dtype)).reshape(one.shape)
            for name, one in sent.arrays.items()
        }
        self.draws = [Draw(number + 1, "", 0, "", 0, None, {}) for number in range(sent.draws)]
        return SavedState(arrays, sent.meta, sent.draws, 0, [])

    def commit_draw(
        self, arrays: dict[str, np.ndarray], *, step: int, energy: float | None = None, **facts: Any
    ) -> None:
        """Count a draw."""
        self.draws.append(Draw(len(self.draws) + 1, "", 0, "", step, energy, facts))

    def load_draw(self, number: int) -> dict[str, np.ndarray]:
        """There is none here."""
        raise UserError(
            f"Draw {number} is kept by the first process alone: open the run directory that it "
            "wrote."
        )

    def commit_state(self, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
        """Nothing: the first process saves it."""
