"""What the tests of leases share: locks of others, a clock that stands still, writers to order."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from pxsgmcmc.store import holder, lock, lock_file

# A writer that goes back to its state and makes eight draws for each line it is sent.
WRITER = """
import sys
import numpy as np
from pxsgmcmc.errors import Locked
from pxsgmcmc.store import open_run
run = open_run(sys.argv[1], writable=True)
print("holds", flush=True)
for line in sys.stdin:
    try:
        run.rewind()
        for step in range(1, 9):
            run.commit_draw({"w": np.full(9, step)}, step=step)
        print("wrote", flush=True)
    except Locked as error:
        print(error, flush=True)
"""


class Clock:
    """Time for a process that wants a lock: nothing passes but what it sleeps."""

    def __init__(self, monkeypatch):
        self.now, self.at_sleep = 0.0, lambda: None
        monkeypatch.setattr(lock, "_now", lambda: self.now)
        monkeypatch.setattr(lock, "_sleep", self.sleep)

    def sleep(self, seconds):
        self.now += seconds
        self.at_sleep()


def write_lock(folder: Path, **changes) -> holder.Holder:
    """Leave a lock of this process, but for what is changed in it."""
    holds = msgspec.structs.replace(holder.myself(lease=60.0), **changes)
    (folder / "lock").write_bytes(lock_file.encode(holds))
    return holds


def start_writer(folder: Path, *before: str, lease_seconds: float) -> subprocess.Popen:
    process = subprocess.Popen(
        [*before, sys.executable, "-c", WRITER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {lock.LEASE_VARIABLE: str(lease_seconds)},
    )
    assert process.stdout and process.stdout.readline() == "holds\n"
    return process


def ask_to_write(process: subprocess.Popen) -> str:
    assert process.stdin and process.stdout
    process.stdin.write("now\n")
    process.stdin.flush()
    return process.stdout.readline()


def end(process: subprocess.Popen) -> None:
    process.kill()
    process.communicate()
