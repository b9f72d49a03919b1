"""The right to write to a folder: renewed by a thread, looked at before every commit."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from pxsgmcmc.errors import CorruptRun, Locked, UserError
from pxsgmcmc.store import files, lock_file
from pxsgmcmc.store.holder import Holder

BEATS_A_LEASE = 6


class Lease:
    """The right to write to a folder, from `acquire`; ends with `release` or a `with` statement."""

    def __init__(self, folder: Path, mine: Holder):
        self._path, self._mine = folder / lock_file.LOCK, mine
        self._one_at_a_time = threading.Lock()  # the thread below and whoever commits
        self._ended = threading.Event()
        self._last_beat = time.monotonic()
        self._thread = threading.Thread(target=self._keep_beating, name="lease", daemon=True)
        self._thread.start()

    def __enter__(self) -> "Lease":
        """This lease."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let another process write."""
        self.release()

    @contextmanager
    def committing(self) -> Iterator[None]:
        """Keep others from taking over while something is written.

        Raises:
          Locked: if another process has taken over; then nothing may be written.
        """
        if os.getpid() != self._mine.process:
            raise Locked(
                f"`{self._path.parent}` is being written by process {self._mine.process}, from "
                "which this one was forked: write there, or open another directory."
            )
        with self._one_at_a_time, self._owned() as descriptor:
            try:
                yield
            finally:
                # During a long commit the thread could not beat, and nobody could take over.
                if time.monotonic() - self._last_beat > self._mine.lease / BEATS_A_LEASE:
                    self._beat(descriptor)

    def release(self) -> None:
        """Let another process write."""
        if os.getpid() != self._mine.process:
            return
        self._ended.set()
        self._thread.join()
        with suppress(Locked), self._owned(), files.writing(self._path):
            os.unlink(self._path)

    @contextmanager
    def _owned(self) -> Iterator[int]:
        """The lock file under the kernel's lock, after a look at its token."""
        with ExitStack() as stack:
            holder, descriptor = None, None
            with files.writing(self._path), suppress(FileNotFoundError):
                opening = lock_file.opened(self._path, make=False, wait=True)
                descriptor = stack.enter_context(opening)
                assert descriptor is not None
                holder = lock_file.read(self._path, descriptor)
            if holder is None or descriptor is None or holder.token != self._mine.token:
                raise Locked(self._how_it_was_lost(holder))
            yield descriptor

    def _how_it_was_lost(self, holder: Holder | None) -> str:
        folder, lease = self._path.parent, self._mine.lease
        if holder is None:
            return (
                f"`{folder}` is no longer written by this process, since another one took over and "
                "ended, or its lock was removed; what was committed is kept: open it again."
            )
        return (
            f"`{folder}` was taken over by {holder.name}, since this process gave no sign "
            f"of life for {lease:g} s; what was committed is kept: let that process go on."
        )

    def _beat(self, descriptor: int) -> None:
        self._mine = msgspec.structs.replace(self._mine, beats=self._mine.beats + 1)
        with suppress(OSError):  # the next one may pass; until then the lease runs on
            lock_file.beat(descriptor, self._mine)
            self._last_beat = time.monotonic()

    def _keep_beating(self) -> None:
        while not self._ended.wait(self._mine.lease / BEATS_A_LEASE):
            try:
                with self._one_at_a_time, self._owned() as descriptor:
                    self._beat(descriptor)
            except Locked:
                return  # the next commit says so
            except (UserError, CorruptRun):
                continue  # a disk that fails now and then; the next commit says what is wrong
