"""Contests for one run directory: a writer is stopped, others want its place, it is woken again.

The tests run it as a program, which forks the writers as `crash_writer` does and prints counts as
JSON. A contest stops the first writer at its n-th call of the system that changes files, or the
n-th time that it is about to open the lock. Stopped in the middle of a commit it keeps its place;
stopped anywhere else it loses it when its lease is over. The others say that they are on other
hosts, or are seen to be on the same one, in turns.
"""

import itertools
import json
import os
import shutil
import signal
import socket
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import crash_writer
from crash_writer import CALLS, CHUNKS, Writer, check, contents_of, write_run

from pxsgmcmc.errors import Locked, UserError
from pxsgmcmc.store import files, lock

LEASE = 0.15  # seconds
DRAWS = CHUNKS // 2
REFUSED = {2 << 8, 5 << 8}  # exit statuses of a writer that came too late or lost its place


def stop_myself_at(call: int, *, at_the_lock: bool) -> None:
    """Stop this process just before its n-th call that changes files, or opens the lock."""
    seen = 0

    def stopping(real: Callable) -> Callable:
        def wrapped(*arguments, **options):
            nonlocal seen
            seen += not at_the_lock or str(arguments[0]).endswith(f"/{lock.LOCK}")
            if seen == call:
                seen += 1
                os.kill(os.getpid(), signal.SIGSTOP)
            return real(*arguments, **options)

        return wrapped

    for name in ["open"] if at_the_lock else CALLS:
        setattr(os, name, stopping(getattr(os, name)))


def note_index_lines(place: Path) -> None:
    """Leave a line in `place` for each line that this process adds to the index."""
    real = files.append

    def noting(path: Path, data: bytes, end: int) -> None:
        real(path, data, end)
        if path.name == "index.jsonl" and data:
            with place.open("ab") as notes:
                notes.write(b"%d\n" % end)

    files.append = noting


def enter(folder: Path, host: str | None, stop: Callable[[], None] = lambda: None) -> Writer:
    """A process that makes the run or goes on with it, as soon as it is let."""

    def before() -> None:
        if host:
            socket.gethostname = lambda: host
        note_index_lines(folder.with_name("appended"))
        stop()

    def write(folder: Path, said: Callable) -> None:
        try:
            write_run(folder, said=said)
        except Locked:
            os._exit(5)
        except UserError:  # the other made the run while this one was about to
            os._exit(2)

    return Writer(folder, before, write)


def contest(
    folder: Path, call: int, hosts: tuple, whole: dict[str, bytes], counts: Counter, **where: bool
) -> bool:
    """One contest; False if the first writer ended before its n-th call."""
    run, notes = folder / "run", folder / "appended"
    shutil.rmtree(run, ignore_errors=True)
    notes.write_bytes(b"")
    first = enter(run, hosts[0], lambda: stop_myself_at(call, **where))
    _, status = os.waitpid(first.process, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        return False
    others = [enter(run, host) for host in hosts[1:]]
    ends = [other.end() for other in others]
    os.kill(first.process, signal.SIGCONT)
    ends.insert(0, first.end())
    counts["contests"] += 1
    counts["failed writers"] += sum(status not in REFUSED | {0} for status, _ in ends)
    counts["places kept"] += ends[0][0] == 0
    counts["places taken"] += ends[0][0] != 0
    check(run, whole, max(promised for _, promised in ends), counts)
    lines = notes.read_text().split()
    counts["double writes"] += len(lines) - len(set(lines))
    last, _ = enter(run, None).end()  # goes on, if nobody came to the end
    counts["failed writers"] += last != 0
    check(run, whole, DRAWS, counts)
    counts["runs"] += 1
    counts["runs identical"] += contents_of(run) == whole
    return True


def contests(folder: Path, stride: int, stride_at_the_lock: int) -> Counter:
    """Contests at every so many calls, on other hosts and on the same, with one rival or two."""
    os.environ[lock.LEASE_VARIABLE] = str(LEASE)
    counts = Counter()
    crash_writer.write_run(folder / "whole")
    whole = contents_of(folder / "whole")
    hosts = itertools.cycle([("a", "b"), (None, None), ("a", "b", "c"), (None, None, None)])
    for at_the_lock, step in ((False, stride), (True, stride_at_the_lock)):
        call = 1
        while contest(folder, call, next(hosts), whole, counts, at_the_lock=at_the_lock):
            call += step
    return counts


if __name__ == "__main__":
    place, *numbers = sys.argv[1:]
    print(json.dumps(contests(Path(place), *map(int, numbers))))
