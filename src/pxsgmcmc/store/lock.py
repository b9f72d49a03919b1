"""One writer to a run directory, for as long as it gives signs of life.

The file `lock` names the process that writes (`store/holder.py`), with a token made at random, the
seconds of its lease and a count of its beats. A thread of the writer adds a beat six times a lease.
Another process takes over

- at once, if it can see that the writer is gone: same host, same boot, same namespaces;
- else when it has seen the same count for a whole lease *by its own clock*. The clocks of two hosts
  are never compared, and a process that was itself stopped does not count that time.

A writer that was stopped for longer than its lease, or cut off, may wake up after that and go on.
So whatever is written is written under the kernel's lock on the file `lock`, after a look at the
token there, and taking over needs the kernel's lock as well: a writer whose token is gone writes
nothing any more, and nobody takes over in the middle of a commit. A writer that is stopped in the
middle of a commit therefore keeps its place until it goes on or ends.

The kernel's lock is held during a commit only, through a descriptor opened for it: held for
longer, it would pass to every process that the writer forks and outlive it. A forked process is not
the writer, and is told so. A beat overwrites one sector in place: it needs no room on a full disk,
is never half there, and may be lost in a power cut together with the process that it speaks of.

Network file systems. NFS since Linux 2.6.12 passes `flock` on to the server, so hosts exclude one
another, and taking the lock makes a client read anew. Mounted with `nolock` or `local_lock`, or
where `flock` works on one host only, a token is still looked at before every commit, but two hosts
may both find it right when one wakes up in the instant in which the other takes over. Where `flock`
fails, nothing is written. A lease should be longer than the longest silence of the server.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

from pxsgmcmc.errors import Locked, UserError, one_line
from pxsgmcmc.store import files, lock_file
from pxsgmcmc.store.holder import LONGEST_LEASE, Holder, myself
from pxsgmcmc.store.lease import Lease
from pxsgmcmc.store.lock_file import LOCK

LEASE_VARIABLE = "PXSGMCMC_LEASE_SECONDS"
LEASE = 60.0  # seconds


def acquire(folder: Path, say: Callable[[str], object] = str) -> Lease:
    """Become the writer of `folder`.

    Args:
      folder: that has or gets the lock.
      say: is given a sentence if it takes a lease to see whether the writer there is alive.

    Raises:
      Locked: naming the process that writes.
    """
    path, mine = folder / LOCK, myself(lease_seconds())
    watch = _Watch(folder, mine.lease, say)
    while True:
        with files.writing(path), lock_file.opened(path, make=True, wait=False) as descriptor:
            if descriptor is None:
                watch.look(lock_file.peek(path), busy=True)
            elif watch.look(lock_file.read(path, descriptor), busy=False):
                lock_file.put(path, mine)
                return Lease(folder, mine)
        _sleep(watch.pause)


def writer(folder: Path) -> Holder | None:
    """The process that writes to `folder`; None if there is none, or if it is gone."""
    holder = lock_file.peek(folder / LOCK)
    return None if holder is None or holder.condition() == "gone" else holder


def lease_seconds() -> float:
    """How long a writer may give no sign of life, from the environment if it says so."""
    text = os.environ.get(LEASE_VARIABLE, str(LEASE))
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.05 <= seconds <= LONGEST_LEASE:
        raise UserError(
            f"`{LEASE_VARIABLE}` must be a number of seconds from 0.05 to {LONGEST_LEASE:g}, "
            f"got {one_line(text)}."
        )
    return seconds


class _Watch:
    """What a process that wants the lock has seen of its holder, by its own clock."""

    def __init__(self, folder: Path, patience: float, say: Callable[[str], object]):
        self._folder, self._patience, self._say = folder, patience, say
        self._seen: Holder | None = None
        self._last = _now()
        self._silent = self._busy = 0.0  # seconds without a beat, seconds of a kernel's lock held
        self.pause = 0.005

    def look(self, holder: Holder | None, *, busy: bool) -> bool:
        """Whether the lock may be taken now; raises `Locked` if its holder is at work."""
        # A process that was stopped between two looks saw nothing of what happened meanwhile.
        passed = min(_now() - self._last, 2 * self.pause)
        self._last = _now()
        self._busy = self._busy + passed if busy else 0.0
        if self._busy > (holder.lease if holder else self._patience):
            name = holder.name if holder else "another process"
            raise Locked(
                f"`{self._folder}` is being written by {name}, which stopped in the middle of a "
                "commit: let it go on, or stop it."
            )
        condition = "gone" if holder is None else holder.condition()
        if holder is None or condition == "gone":
            return not busy
        if condition == "running" or (self._seen is not None and holder != self._seen):
            raise Locked(
                f"`{self._folder}` is being written by {holder.name}: wait for it or stop it."
            )
        if self._seen is None:
            self._say(
                f"`{self._folder}` is locked by {holder.name}: waiting up to {holder.lease:g} s "
                "to see whether it is alive."
            )
            self._seen, passed = holder, 0.0
            self.pause = min(1.0, holder.lease / 20)
        self._silent += passed
        return self._silent >= holder.lease and not busy


def _now() -> float:
    return time.monotonic()


def _sleep(seconds: float) -> None:
    time.sleep(seconds)
