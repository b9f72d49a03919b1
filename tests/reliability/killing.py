"""Start chains in processes of their own, kill them, and compare what they leave."""

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from pxsgmcmc.errors import CorruptRun
from pxsgmcmc.store import open_run, verify
from tests.helpers.waiting import wait_until
from tests.reliability import small_chains

ROOT = Path(__file__).parents[2]  # programs of the tests are found from there

# Every step is a chunk, and every chunk is saved: most moments are moments of writing.
BUSY = {"chunk_seconds": 1e-6, "checkpoint_seconds": 0.0}


class Server:
    """Runs one chain at a time, each in a new process."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", small_chains.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # no threads before the fork
            cwd=ROOT,
        )

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def start(self, name: str, folder: Path, **settings: object) -> int:
        """Begin or go on with a chain; returns the id of its process."""
        request = {"name": name, "folder": str(folder), "cache": str(self.folder / "cache")}
        assert self.process.stdin
        self.process.stdin.write(json.dumps(request | settings) + "\n")
        self.process.stdin.flush()
        return self._read("process")

    def wait(self) -> int:
        """How the process ended: its exit code, or minus the signal it died of."""
        return self._read("ended")

    def _read(self, expected: str) -> int:
        """A number by its name: a signal sent to a wrong number could hit any process."""
        assert self.process.stdout
        name, number = self.process.stdout.readline().split()
        assert name == expected
        return int(number)


def contents(folder: Path) -> tuple[list, dict[str, bytes]]:
    """What the index says of each draw, and the arrays of the last state."""
    run = open_run(folder)
    draws = [(draw.sha256, draw.step, draw.energy) for draw in run.draws]
    state = run.load_state()
    assert state is not None
    return draws, {name: np.asarray(array).tobytes() for name, array in state.arrays.items()}


def promised_in(commits: Path) -> int:
    """The last draw whose commit had returned."""
    return max(map(int, commits.read_text().split()), default=0) if commits.exists() else 0


def examine(folder: Path, promised: int, reference: list, counts: Counter) -> None:
    """Count what a killed chain lost: draws whose commit had returned, and files it tore."""
    if not (folder / "manifest.json").exists():
        counts["draws lost"] += promised
        return
    counts["torn files"] += len(verify(folder).problems)
    run = open_run(folder)
    kept = [(draw.sha256, draw.step, draw.energy) for draw in run.draws]
    counts["draws lost"] += max(0, promised - len(kept))
    counts["other draws"] += kept != reference[: len(kept)]
    for number in range(1, len(kept) + 1):
        try:
            run.load_draw(number)
        except CorruptRun:
            counts["torn files"] += 1


def kill_and_go_on(server: Server, name: str, folder: Path, kills: int, seed: int) -> Counter:
    """Kill a chain at random moments, each time letting it go on, as often as asked.

    A chain that reaches its end is compared with one that was never stopped, and another begins.
    """
    moments, counts = random.Random(f"{name} {seed}"), Counter()
    server.start(name, folder / "reference", **BUSY)
    assert server.wait() == 0
    reference = contents(folder / "reference")
    server.start(name, folder / "warm", **BUSY)  # without compiling, it takes the usual time
    began = time.monotonic()
    assert server.wait() == 0
    usual = time.monotonic() - began
    while counts["kills"] < kills or not counts["runs"]:
        run, commits = folder / f"run{counts['runs']}", folder / f"commits{counts['runs']}"
        ended = False
        while not ended:
            after = moments.uniform(0.0, usual) if counts["kills"] < kills else None
            server.start(name, run, commits=str(commits), kill_after=after, **BUSY)
            code = server.wait()
            ended = code == 0
            if not ended:
                counts["kills" if code == -signal.SIGKILL else "failed"] += 1
                examine(run, promised_in(commits), reference[0], counts)
        counts["runs"] += 1
        counts["identical"] += contents(run) == reference and open_run(run).status == "done"
    return counts


def chunks_in(notes: Path) -> list[tuple[float, float, int]]:
    """When each chunk began and ended, and the steps taken by then."""
    lines = notes.read_text().splitlines() if notes.exists() else []
    return [(float(began), float(end), int(step)) for began, end, step in map(str.split, lines)]


def terminate(server: Server, folder: Path, times: int, seed: int) -> dict[str, object]:
    """Stop a chain with SIGTERM at random moments, and go on with it, as often as asked."""
    moments, counts, seconds = random.Random(seed), Counter(), []
    notes, wished = folder / "chunks", 0.2
    for _ in range(times):
        notes.unlink(missing_ok=True)
        process = server.start(
            "px_sghmc",
            folder / "run",
            draws=10_000,
            cycle_length=2_000,
            chunk_seconds=wished,
            chunks=str(notes),
        )
        wait_until(lambda: len(chunks_in(notes)) >= 5, "the fifth chunk")
        time.sleep(moments.uniform(0.0, 2 * wished))
        os.kill(process, signal.SIGTERM)
        told = time.monotonic()
        code = server.wait()
        seconds.append(time.monotonic() - told)
        chunks = chunks_in(notes)
        # The chunk under way is finished, and the one that the device was given after it.
        after = [1 for _, chunk_ended, _ in chunks if chunk_ended > told]
        run = open_run(folder / "run")
        state = run.load_state()
        assert state is not None
        all_saved = int(state.arrays["step"]) == chunks[-1][2]
        healthy = run.status == "interrupted" and not verify(folder / "run").problems
        counts["stopped within two chunks"] += code == 128 + signal.SIGTERM and len(after) <= 2
        counts["all saved"] += all_saved and healthy
    return {
        "sent": times,
        **counts,
        "median seconds": round(statistics.median(seconds), 3),
        "longest seconds": round(max(seconds), 3),
        "chunk seconds": wished,
    }
