"""A long chain that counts its memory, open files and compilations as it goes.

As a program, `python -m tests.reliability.soak FOLDER DRAWS STEPS` prints what it found.
"""

import json
import os
import statistics
import sys
from pathlib import Path

import jax

from pxsgmcmc.store import StoredRun
from tests.reliability.small_chains import run


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def soak(folder, draws, steps):
    """Run the chain, looking at the process after every draw."""
    memory, files, compiled = [], [], []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: compiled.append(event) if "backend_compile" in event else None
    )
    seen = []
    commit = StoredRun.commit_draw

    def commit_draw(self, *args, **facts):
        draw = commit(self, *args, **facts)
        memory.append(resident_bytes())
        files.append(len(os.listdir("/proc/self/fd")))
        seen.append(len(compiled))
        return draw

    StoredRun.commit_draw = commit_draw
    run(
        "px_sghmc",
        folder,
        draws=draws,
        cycle_length=steps,
        chunk_seconds=0.1,
        checkpoint_seconds=1.0,
    )
    tenth = draws // 10  # the warm-up; compared are the tenth after it and the last
    warm = statistics.fmean(memory[tenth : 2 * tenth])
    end = statistics.fmean(memory[-tenth:])
    return {
        "steps": draws * steps,
        "memory_MB": round(warm / 1e6, 1),
        "memory_growth_percent": round(100 * (end / warm - 1), 3),
        "open_files_after_warm_up": sorted(set(files[tenth:])),
        "compilations_after_warm_up": seen[-1] - seen[tenth],
        "compilations_in_all": seen[-1],
    }


if __name__ == "__main__":
    print(json.dumps(soak(sys.argv[1], *map(int, sys.argv[2:]))))
