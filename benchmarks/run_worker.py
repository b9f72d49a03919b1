"""A run as its user starts it, in a process of its own, with a stopwatch on its parts.

    python benchmarks/run_worker.py start|cycle|predict CONFIG FOLDER ANSWER.json

start: ends when the first step is done; who started the process reads the clock.
cycle: runs to the end; how much of each draw after the first was not spent in steps.
predict: predicts with the draws in FOLDER; images x draws a second.
"""

import json
import os
import statistics
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any


def start(config: str, folder: str) -> dict[str, Any]:
    """Leave as soon as a step has been taken."""
    import jax

    from pxsgmcmc.chain.executors import Advance
    from pxsgmcmc.cli import main

    advance = Advance.__call__

    def once(self: Advance, *given: Any) -> Any:
        jax.block_until_ready(advance(self, *given))
        os._exit(0)

    Advance.__call__ = once
    raise RuntimeError(f"no step was taken, exit code {main(['run', config, '--out', folder])}")


def cycle(config: str, folder: str) -> dict[str, Any]:
    """Seconds between the commits of two draws, and how many of them were steps.

    A chunk of steps is over when the device is done with it; the chunk before is reported and rows
    are shuffled meanwhile.
    """
    import jax

    from pxsgmcmc.chain.batches import Batches
    from pxsgmcmc.chain.executors import Advance
    from pxsgmcmc.cli import main
    from pxsgmcmc.store import StoredRun

    advance, shuffle_ahead, commit_draw = (
        Advance.__call__,
        Batches.shuffle_ahead,
        StoredRun.commit_draw,
    )
    stepping, marks, commits = 0.0, [], []
    began, under_way = 0.0, None

    def watched_advance(self: Advance, *given: Any) -> Any:
        nonlocal began, under_way
        began = time.perf_counter()
        under_way = advance(self, *given)
        return under_way

    def watched_shuffle(self: Batches, *given: int) -> None:
        nonlocal stepping
        shuffle_ahead(self, *given)
        jax.block_until_ready(under_way)
        stepping += time.perf_counter() - began

    def timed_commit(self: StoredRun, *given: Any, **named: Any) -> Any:
        began = time.perf_counter()
        found = commit_draw(self, *given, **named)
        commits.append(time.perf_counter() - began)
        marks.append((time.perf_counter(), stepping))
        return found

    Advance.__call__, Batches.shuffle_ahead = watched_advance, watched_shuffle
    StoredRun.commit_draw = timed_commit
    code = main(["run", config, "--out", folder])
    assert code == 0, code
    lost = [
        1.0 - (inside - inside_before) / (now - before)
        for (before, inside_before), (now, inside) in pairwise(marks)
    ]
    size = (Path(folder) / "draws/000001.safetensors").stat().st_size
    return {
        "lost": lost,
        "cycle_seconds": statistics.mean(b[0] - a[0] for a, b in pairwise(marks)),
        "commit_ms": 1e3 * statistics.median(commits),
        "draw_mb": size / 1e6,
    }


def predict(config: str, folder: str) -> dict[str, Any]:
    """Three times over the same images, after one to compile."""
    import numpy as np

    import pxsgmcmc as px

    run = px.open(folder)
    images = run.need_problem("predict").test.x
    images = np.tile(images, (-(-2000 // len(images)), 1, 1, 1))[:2000]
    rates = []
    for _ in range(4):
        began = time.perf_counter()
        run.predict(images)
        rates.append(len(images) * len(run) / (time.perf_counter() - began))
    return {"images_times_draws_a_second": rates[1:]}


if __name__ == "__main__":
    _, mode, config, folder, answer = sys.argv
    found = {"start": start, "cycle": cycle, "predict": predict}[mode](config, folder)
    Path(answer).write_text(json.dumps(found))
