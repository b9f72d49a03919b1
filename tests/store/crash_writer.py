"""A small chain that writes a run and is stopped on the way. The tests run it as a program.

The program loads everything once and forks a writer for each attempt, so that the moments at which
the writers are killed fall into the writing and not into the loading. It prints counts as JSON.
"""

import errno
import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.store import StorageFull, create_run, open_run, verify

CHUNKS = 14
CALLS = "open pwrite fsync ftruncate replace unlink mkdir rmdir".split()


def write_run(folder: Path, *, size: int = 500, said: Callable[[int], object] = int) -> None:
    """Make the run, or go on with it: a log line a chunk, a draw every 2nd, a state every 3rd.

    `said` is told the number of each draw as soon as it is committed.
    """
    if (folder / "manifest.json").exists():
        run = open_run(folder, writable=True)
    else:
        run = create_run(folder, "seed = 1\n", {"seed": 1})
    with run:
        saved = run.load_state()
        done = saved.meta["chunks"] if saved else 0
        position = saved.arrays["q"] if saved else np.zeros(size, np.float32)
        for chunk in range(done + 1, CHUNKS + 1):
            noise = np.random.default_rng(chunk).standard_normal(size)
            position = (0.9 * position + noise).astype(np.float32)
            run.append_log({"chunk": chunk, "energy": float(position[0])})
            if chunk % 2 == 0:
                said(run.commit_draw({"w": position}, step=chunk, energy=float(position[1])).number)
            if chunk % 3 == 0 or chunk == CHUNKS:
                run.commit_state({"q": position}, {"chunks": chunk})
        run.write_artifact("eval/test.json", b'{"error": 0.1}')
        run.write_artifact("eval/test.json", b'{"error": 0.01}')
        run.update(status="done")


def contents_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def check(folder: Path, whole: dict[str, bytes], promised: int, counts: Counter) -> None:
    """Count what is lost or torn in a run whose writer is gone."""
    try:
        counts["damaged directories"] += bool(verify(folder).problems)
    except UserError:  # the run was not made yet
        counts["draws lost"] += promised
        return
    try:
        run = open_run(folder)
        counts["draws lost"] += max(0, promised - len(run.draws))
        for draw in run.draws:
            run.load_draw(draw.number)
            wrong = whole[f"draws/{draw.name}"]
            place = folder / "draws" / draw.name
            place = place if place.exists() else place.with_name(place.name + ".part")
            counts["draws torn"] += place.read_bytes() != wrong
        run.load_state()
        list(run.read_log())
    except (CorruptRun, UserError) as error:
        print(error, file=sys.stderr)
        counts["unreadable directories"] += 1


class Writer:
    """A forked process that writes the run; `promised` is the last draw it said was committed."""

    def __init__(
        self,
        folder: Path,
        before: Callable[[], None] = lambda: None,
        write: Callable[[Path, Callable], None] = lambda folder, said: write_run(folder, said=said),
    ):
        self.reader, writer = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            status = 1
            try:
                before()
                write(folder, lambda number: os.write(writer, bytes([number])))
                status = 0
            finally:
                os._exit(status)
        os.close(writer)

    def end(self) -> tuple[int, int]:
        """Wait; the exit status and the last draw that was promised."""
        _, status = os.waitpid(self.process, 0)
        promises = os.read(self.reader, 1000)
        os.close(self.reader)
        return status, max(promises, default=0)


def kill_at_random(folder: Path, kills: int, seed: int) -> Counter:
    """Kill writers at random moments, each going on where the one before was killed."""
    rng, counts = random.Random(seed), Counter()
    durations = []
    for _ in range(3):
        shutil.rmtree(folder / "whole", ignore_errors=True)
        started = time.perf_counter()
        write_run(folder / "whole")
        durations.append(time.perf_counter() - started)
    whole = contents_of(folder / "whole")
    while counts["kills"] < kills:
        shutil.rmtree(folder / "run", ignore_errors=True)
        promised, finished = 0, False
        while not finished:
            writer = Writer(folder / "run")
            if counts["kills"] < kills:
                time.sleep(rng.uniform(0, 0.8 * max(durations)))
                os.kill(writer.process, signal.SIGKILL)
            status, promises = writer.end()
            promised = max(promised, promises)
            finished = status == 0
            counts["kills"] += os.WIFSIGNALED(status)
            counts["failed writers"] += os.WIFEXITED(status) and status != 0
            check(folder / "run", whole, promised, counts)
        counts["runs"] += 1
        counts["runs identical"] += contents_of(folder / "run") == whole
    return counts


def stop_at(call: int) -> Callable[[], None]:
    """A preparation after which the process ends at its n-th call of the system that changes files.

    A write is stopped halfway, any other call just before it is made.
    """
    seen = 0

    def stopping(name: str, real: Callable) -> Callable:
        def wrapped(*arguments, **options):
            nonlocal seen
            seen += 1
            if seen == call:
                if name == "pwrite":
                    descriptor, data, offset = arguments
                    real(descriptor, data[: len(data) // 2], offset)
                os._exit(9)
            return real(*arguments, **options)

        return wrapped

    def prepare() -> None:
        for name in CALLS:
            setattr(os, name, stopping(name, getattr(os, name)))

    return prepare


def stop_at_every_call(folder: Path, stride: int, seed: int) -> Counter:
    """Stop a writer at its n-th call for every n, and the one that goes on at a random call."""
    rng, counts = random.Random(seed), Counter()
    write_run(folder / "whole")
    whole = contents_of(folder / "whole")
    status = 9 << 8
    call = 1
    while status != 0:
        shutil.rmtree(folder / "run", ignore_errors=True)
        status, promised = Writer(folder / "run", stop_at(call)).end()
        check(folder / "run", whole, promised, counts)
        counts["stops"] += status != 0
        again, promises = Writer(folder / "run", stop_at(rng.randrange(1, 60))).end()
        check(folder / "run", whole, max(promised, promises), counts)
        counts["stops"] += again != 0
        final, _ = Writer(folder / "run").end()
        counts["failed writers"] += final != 0
        check(folder / "run", whole, CHUNKS // 2, counts)
        counts["runs"] += 1
        counts["runs identical"] += contents_of(folder / "run") == whole
        call += stride
    return counts


def write_draws(folder: Path, values: list[int]) -> None:
    """Go on with the run and keep one draw for each value."""
    with open_run(folder, writable=True) as run:
        for step, value in enumerate(values, start=2):
            run.commit_draw({"w": np.full(9, value)}, step=step)


def stop_while_replacing(folder: Path, stride: int, _: int) -> Counter:
    """Stop a writer whose draws come out other than those that are newer than its state."""
    counts = Counter()
    with create_run(folder / "old", "", {}) as run:
        run.commit_draw({"w": np.zeros(9)}, step=1)
        run.commit_state({"q": np.zeros(9)}, {})
    shutil.copytree(folder / "old", folder / "new")
    write_draws(folder / "old", [1, 2, 3])
    write_draws(folder / "new", [4, 5])
    new = contents_of(folder / "new")
    status, call = 1, 1
    while status != 0:
        shutil.rmtree(folder / "run", ignore_errors=True)
        shutil.copytree(folder / "old", folder / "run")
        status, _ = Writer(folder / "run", stop_at(call), lambda f, _: write_draws(f, [4, 5])).end()
        counts["stops"] += status != 0
        counts["damaged directories"] += bool(verify(folder / "run").problems)
        counts["draws lost"] += len(open_run(folder / "run").draws) < 1
        list(open_run(folder / "run").iter_draws())
        write_draws(folder / "run", [4, 5])
        counts["runs"] += 1
        counts["runs identical"] += contents_of(folder / "run") == new
        call += stride
    return counts


def fill(folder: Path) -> int:
    """Write a run until it is done or the storage is full; the exit status of a command line."""
    try:
        write_run(folder, size=3000)
    except StorageFull as error:
        assert "\n" not in str(error) and error.__cause__.errno in (errno.ENOSPC, errno.EFBIG)
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    what, place, *numbers = sys.argv[1:]
    if what == "fill":
        sys.exit(fill(Path(place)))
    how = {"kill": kill_at_random, "stop": stop_at_every_call, "replace": stop_while_replacing}[
        what
    ]
    print(json.dumps(how(Path(place), *map(int, numbers))))
