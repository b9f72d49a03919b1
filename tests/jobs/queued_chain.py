"""The process of a job of a queue, as tests want it: it can be held, and it notes what it writes.

    python queued_chain.py small SHEET NUMBER [PARENT]     a chain of NumPy, which starts in no time
    python queued_chain.py real SHEET NUMBER [PARENT]      a chain of a configuration

`NAME.notes` beside the run NAME has a line for each line that is put into its index: where, and by
whom. The file `allowed` there says how many draws chains may make before they wait for more.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from pxsgmcmc import cli
from pxsgmcmc.cli import job as job_process
from pxsgmcmc.jobs.job import Job
from pxsgmcmc.store import StoredRun, create_run, files, open_run

ALLOWED = "allowed"


def note_and_hold() -> None:
    """Leave a note of each line that this process adds to an index, and wait where told to.

    It waits before a commit, not in it: stopped there, a writer loses its place.
    """
    append, commit_draw = files.append, StoredRun.commit_draw

    def noting(path: Path, data: bytes, end: int) -> None:
        append(path, data, end)
        if path.name == "index.jsonl" and data:
            with path.parent.with_name(f"{path.parent.name}.notes").open("ab") as notes:
                notes.write(b"%d %d\n" % (end, os.getpid()))

    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)

    def waiting(self: StoredRun, *arguments: Any, **facts: Any) -> Any:
        index = self.path / "index.jsonl"
        while index.read_bytes().count(b"\n") >= int((self.path.parent / ALLOWED).read_text()):
            with suppress(BlockingIOError):
                os.read(reader, 1)
                break  # a signal came: it wants to stop, and notices after this draw
            time.sleep(0.01)
        return commit_draw(self, *arguments, **facts)

    files.append, StoredRun.commit_draw = noting, waiting


def small_chain(job: Job, progress_of: object = None) -> int:
    """Make a run of draws that depend on all before them, or go on with it."""
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.append(number))
    folder = Path(job.folder)
    if (folder / "manifest.json").exists():
        run = open_run(folder, writable=True)
    else:
        run = create_run(folder, "seed = 1\n", {"chain": job.chain})
    with run:
        print('{"stage": "sample", "share": 0.5, "text": "going on"}', flush=True)
        saved = run.rewind()
        done, position = (saved.meta["draws"], saved.arrays["q"]) if saved else (0, np.zeros(9))
        for draw in range(done + 1, job.settings().chain.draws + 1):
            noise = np.random.default_rng([job.chain, draw]).standard_normal(9)
            position = 0.9 * position + noise
            run.commit_draw({"w": position}, step=draw)
            if draw % 2 == 0:
                run.commit_state({"q": position}, {"draws": draw})
            if stopped:
                run.update("interrupted")
                return 128 + stopped[0]
        run.update("done")
    return 0


if __name__ == "__main__":
    kind, *words = sys.argv[1:]
    note_and_hold()
    if kind == "small":
        job_process._do = small_chain
    sys.exit(cli.guarded(lambda: job_process.main_of_queue(*words)))
