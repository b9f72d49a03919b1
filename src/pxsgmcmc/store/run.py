"""A run directory: created, read, written and resumed through one class. The package says how."""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec
import numpy as np

from pxsgmcmc.errors import CorruptRun, UserError, check_count, printable_texts
from pxsgmcmc.store import contents, files, journal, layout, lock, manifest, sealed, state, tensors
from pxsgmcmc.store.contents import Draw
from pxsgmcmc.store.manifest import Status
from pxsgmcmc.store.repair import Resumption


class SavedState(NamedTuple):
    """Where a chain goes on.

    Attributes:
      arrays: as they were given to `Run.commit_state`.
      meta: as it was given to `Run.commit_state`, NumPy's numbers as plain ones.
      draws: how many draws the chain had made.
      serial: 1 for the first state that was saved, and so on.
      notes: a sentence for each state file that was found damaged; empty if both are well.
    """

    arrays: dict[str, np.ndarray]
    meta: dict[str, Any]
    draws: int
    serial: int
    notes: list[str]


class StoredRun:
    """A run directory, from `create_run` or `open_run`; a `with` statement frees the lock.

    Attributes:
      path: of the directory.
      config: the text of `config.toml`.
      notes: sentences for the user: made by another version, went on from an older state.
    """

    def __init__(
        self,
        path: Path,
        committed: contents.Contents,
        writer: tuple[lock.Lease, Resumption] | None,
        notes: list[str],
    ):
        self.path = path
        self.config = committed.config
        self.notes = notes
        self._manifest = committed.manifest
        self._draws = committed.draws
        self._marks = committed.marks
        self._lease = None
        if writer:
            self._lease, resumed = writer
            self._serial, self._made = resumed.serial, resumed.draws
            self._log_end, self._last_is_good = resumed.log, resumed.last_is_good

    def __enter__(self) -> "StoredRun":
        """This run."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let another process write."""
        self.close()

    def close(self) -> None:
        """Let another process write. Reading goes on to work."""
        if self._lease:
            lease, self._lease = self._lease, None
            lease.release()

    @property
    def status(self) -> str:
        """One of "running", "interrupted", "done" and "diverged"."""
        return self._manifest.status

    @property
    def manifest(self) -> dict[str, Any]:
        """All that the manifest says."""
        return printable_texts(msgspec.to_builtins(self._manifest))

    @property
    def draws(self) -> list[Draw]:
        """What the index says of each committed draw, in order."""
        return list(self._draws)

    def load_draw(self, number: int) -> dict[str, np.ndarray]:
        """The arrays of one draw, checked against its hash; draws are counted from 1."""
        check_count("number", number, at_least=1)
        if number > len(self._draws):
            raise UserError(f"`{self.path}` has {len(self._draws)} draws, not a draw {number}.")
        return contents.read_draw(self.path, self._draws[number - 1])

    def iter_draws(self) -> Iterator[tuple[Draw, dict[str, np.ndarray]]]:
        """Every draw with its arrays, one at a time in memory."""
        for draw in self._draws:
            yield draw, contents.read_draw(self.path, draw)

    def read_log(self) -> Iterator[dict[str, Any]]:
        """The lines of the log, in order."""
        for _, body in contents.read_log(self.path, self._manifest.identity):
            yield body

    def load_state(self) -> SavedState | None:
        """The last saved state, or the one before it if that is damaged; None if none was saved.

        Raises:
          CorruptRun: if none of the states that were saved is as it was written.
        """
        return _saved(self.path, self._find_state())

    def rewind(self) -> SavedState | None:
        """Go back to the last saved state: the next draw is the one after those it had made."""
        with self._committing():
            states = self._find_state()
            saved = _saved(self.path, states)
            self._serial, self._made = (saved.serial, saved.draws) if saved else (0, 0)
            self._last_is_good = states.last_is_good
            return saved

    def _find_state(self) -> state.SavedStates:
        # Read anew: while another process writes, its state may know of draws that came after ours,
        # or even after this look at the index; then another look finds nothing wrong.
        def look() -> state.SavedStates:
            return state.find(self.path, contents.read_contents(self.path))

        states = None
        for _ in contents.attempts(self.path):
            states = contents.steady(self.path, look)
            if not states.problems:
                break
        assert states is not None
        return states

    def commit_draw(
        self, arrays: Mapping[str, Any], *, step: int, energy: float | None = None, **facts: Any
    ) -> Draw:
        """Keep a draw: when this returns, it survives the end of the process and of the power.

        After a resumption, draws newer than the saved state come a second time. One that comes out
        the same is left as it is; one that differs takes its place and that of all after it.

        Args:
          arrays: name -> array.
          step: transitions taken.
          energy: at the draw.
          facts: anything that JSON can say, kept in the index.
        """
        committing = self._committing()
        number, payload = self._made + 1, tensors.encode(arrays)
        draw = Draw(
            number=number,
            name=layout.draw_name(number),
            bytes=len(payload),
            sha256=sealed.digest(payload),
            step=int(step),
            energy=None if energy is None else float(energy),
            facts=sealed.from_json(sealed.to_json(facts)),
        )
        with committing:
            if number <= len(self._draws):
                old = self._draws[number - 1]
                if (old.sha256, old.step) == (draw.sha256, draw.step):
                    self._made = number
                    return old
                self._drop_draws_from(number)
            path = self.path / layout.DRAWS / draw.name
            files.write_beside(path, payload)
            try:
                mark = journal.append(self.path / layout.INDEX, self._marks[-1], draw.line())
            except UserError:
                files.beside(path).unlink(missing_ok=True)
                raise
            self._draws.append(draw)
            self._marks.append(mark)
            self._made = number
            files.put_in_place(path)
            return draw

    def _drop_draws_from(self, number: int) -> None:
        """Undo commits, the last first and each in the reverse order of its steps."""
        while len(self._draws) >= number:
            path = self.path / layout.DRAWS / self._draws[-1].name
            if os.path.lexists(path):
                with files.writing(path):
                    os.replace(path, files.beside(path))
                    files.sync_folder(path.parent)
            files.cut(self.path / layout.INDEX, self._marks[-2].end)
            self._draws.pop()
            self._marks.pop()
            with files.writing(path):
                files.beside(path).unlink()

    def commit_state(self, arrays: Mapping[str, Any], meta: dict[str, Any]) -> None:
        """Save all that is needed to go on from here, after the draws and log lines made so far."""
        with self._committing():
            header = state.save(
                self.path / layout.STATE,
                self._manifest.identity,
                arrays,
                meta,
                serial=self._serial + 1,
                draws=self._marks[self._made],
                log=self._log_end,
                keep_last=self._last_is_good,
            )
            self._serial, self._last_is_good = header.serial, True
            with files.writing(self.path / layout.STATE):
                files.sync_folder(self.path / layout.STATE)
            if not self._manifest.resumable:
                self._write_manifest(resumable=True)

    def append_log(self, facts: Mapping[str, Any]) -> None:
        """Add one line to the log."""
        with self._committing():
            self._log_end = journal.append(self.path / layout.LOG, self._log_end, dict(facts))

    def update(self, status: Status | None = None, **progress: Any) -> None:
        """Say in the manifest how the run stands, and anything else that was learnt on the way.

        Args:
          status: "running", "interrupted", "done" or "diverged"; None leaves it.
          progress: named facts, such as `retries=2`, added to those that are there.
        """
        with self._committing():
            known = get_args(Status)
            if status is not None and status not in known:
                raise UserError(f"`status` must be one of {', '.join(known)}, got {status!r}.")
            self._write_manifest(
                status=status if status is not None else self._manifest.status,
                progress=sealed.from_json(sealed.to_json({**self._manifest.progress, **progress})),
            )

    def write_artifact(self, name: str, data: bytes) -> None:
        """Keep a result, "results.json", "report.html" or "eval/NAME", with its hash."""
        with self._committing():
            self._manifest = manifest.stage_artifact(self.path, self._manifest, name, data)
            files.put_in_place(self.path / name)

    def read_artifact(self, name: str) -> bytes:
        """A result, checked against its hash."""
        return manifest.read_artifact(self.path, self._manifest, name)

    def _write_manifest(self, **changes: Any) -> None:
        changed = msgspec.structs.replace(self._manifest, **changes)
        manifest.write(self.path, changed)
        self._manifest = changed

    def _committing(self) -> AbstractContextManager[None]:
        """What every change is made in: this process is the writer, and stays so meanwhile."""
        if not self._lease:
            raise UserError(f"`{self.path}` was opened for reading: use `writable=True` to write.")
        return self._lease.committing()


def _saved(folder: Path, states: state.SavedStates) -> SavedState | None:
    if states.best is None and states.problems:
        raise CorruptRun(states.problems[0])
    if states.best is None:
        return None
    header, arrays = states.best.header, state.arrays_of(folder, states.best)
    return SavedState(arrays, header.meta, header.draws, header.serial, states.problems)
