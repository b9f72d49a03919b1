"""`python -m pxsgmcmc.cli.job`: the process of one job, which is the first line of standard input.

It ends when its standard input does: that is when whoever started it is gone, however that
happened. How far it is, it says on standard output in lines of JSON.

`python -m pxsgmcmc.cli.job SHEET NUMBER [PARENT]` is a job that a queue starts: it is that of the
sheet, and leaves its exit code there. With the number of the process that started it, it ends when
that one does.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from pxsgmcmc import cli
from pxsgmcmc.cli.compiled import remember_compilations
from pxsgmcmc.cli.startup_checks import (
    check_devices,
    check_single_precision,
    open_closed_descriptors,
)
from pxsgmcmc.jobs.job import Job, Stage
from pxsgmcmc.jobs.local import JobMessage
from pxsgmcmc.jobs.queued import LOCKED
from pxsgmcmc.jobs.sheet import read_sheet
from pxsgmcmc.jobs.slurm import requeue_this_job
from pxsgmcmc.jobs.work import work
from pxsgmcmc.memory import end_with, start_with_large_pages
from pxsgmcmc.progress import Progress


class Teller:
    """Says how far a stage is: a few times a second, or every so many seconds."""

    def __init__(self, stage: Stage, seconds: float = 0.3):
        self._stage: Stage = stage
        self._next, self._seconds = 0.0, seconds
        self.tell(0.0, "starting")

    def tell(self, share: float, text: str, seconds_left: float | None = None) -> None:
        """Say it, if it is time to."""
        if share >= 1.0 or time.monotonic() >= self._next:
            self._next = time.monotonic() + self._seconds
            self._print(JobMessage(self._stage, share, text))

    def say(self, sentence: str) -> None:
        """Pass a sentence on."""
        self._print(JobMessage(self._stage, 0.0, sentence, sentence=True))

    def _print(self, message: JobMessage) -> None:
        print(msgspec.json.encode(message).decode(), flush=True)

    def close(self) -> None:
        """Nothing is open."""


def main() -> int:
    """Read the job, and do what is missing of it."""
    line = _first_line()
    if not line:  # whoever started us is gone already
        return 1
    job = msgspec.json.decode(line, type=Job)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    return _do(job, Teller)


def main_of_queue(folder: str, number: str, parent: str = "") -> int:
    """Do what is missing of a job of a sheet, and leave the exit code there."""
    if parent:
        end_with(int(parent))
    sheet, place = read_sheet(Path(folder)), int(number)
    sheet.forget_end(place)
    # Seldom enough for a shared file system with a thousand jobs on it.
    code = cli.guarded(lambda: _do(sheet.job(place), lambda stage: Teller(stage, 5.0)))
    # One that lost its place may end late: it does not speak over the attempt that took it, and
    # whoever looked after both may have removed the sheet.
    if code != LOCKED or (sheet.folder.exists() and sheet.end(place) is None):
        sheet.write_end(place, code)
    if code >= 128 and sheet.facts.engine == "slurm" and not sheet.stopping:
        requeue_this_job()
    return code


def _do(job: Job, progress_of: Callable[[Stage], Progress]) -> int:
    remember_compilations()
    os.environ["PJRT_NPROC"] = str(job.settings().threads)  # JAX reads this when it starts
    check_devices()
    check_single_precision()
    return work(job, progress_of)


def _first_line() -> bytes:
    """Read byte by byte, so that nothing is left in a buffer."""
    line = bytearray()
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return bytes(line)


def _end_with_parent() -> None:
    """Wait for the end of standard input, then leave: a store is made to be left at any time."""
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    open_closed_descriptors()
    start_with_large_pages()
    words = sys.argv[1:]
    sys.exit(cli.guarded(lambda: main_of_queue(*words) if words else main()))
