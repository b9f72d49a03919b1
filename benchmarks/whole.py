"""Whole runs rather than steps: starting, a cycle with all that surrounds it, predicting."""

import json
import os
import pty
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

SAMPLER = """
[expansion]
out = 1
into = 1
[sampler]
name = "sghmc"
step_size = 1e-5
friction = 100.0
"""
R8_CYCLE = f"""
[data]
name = "digits"
[model]
name = "resnet_frn"
depth = 8
width = 8
{SAMPLER}
[chain]
draws = 4
cycle_length = 5000
batch_size = 100
"""
R20 = f"""
[data]
name = "mnist5k"
[model]
name = "resnet_frn"
{SAMPLER}
[chain]
draws = 3
cycle_length = 2
batch_size = 256
"""


def measure(starts: int = 5) -> dict[str, Any]:
    """All of it, as plain numbers."""
    with tempfile.TemporaryDirectory(prefix="pxsgmcmc-bench-") as name:
        folder = Path(name)
        (folder / "r8.toml").write_text(R8_CYCLE)
        (folder / "r20.toml").write_text(R20)
        print("  starting R20, first without compiled programs", flush=True)
        first = [run(folder, "start", "r20", f"start{n}")["seconds"] for n in range(starts + 1)]
        print("  a run of R20, 2 steps a draw", flush=True)
        r20 = run(folder, "cycle", "r20", "r20")
        print("  a run of R8, 5,000 steps a draw", flush=True)
        r8 = run(folder, "cycle", "r8", "r8")
        print("  predicting", flush=True)
        predicted = {net: run(folder, "predict", net, net) for net in ("r8", "r20")}
    return {
        "cold_start_seconds": first[0],
        "warm_start_seconds": first[1:],
        "lost": r8["lost"],
        "cycle_seconds": r8["cycle_seconds"],
        "commit": [{key: found[key] for key in ("draw_mb", "commit_ms")} for found in (r8, r20)],
        "predict": {
            net: statistics.median(found["images_times_draws_a_second"])
            for net, found in predicted.items()
        },
    }


def run(folder: Path, mode: str, config: str, out: str) -> dict[str, Any]:
    """One process, with a terminal to show its progress on; what it found, and its seconds."""
    answer = folder / "answer.json"
    answer.write_text("{}")
    terminal, end = pty.openpty()
    began = time.perf_counter()
    process = subprocess.Popen(
        [
            *(sys.executable, str(HERE / "run_worker.py"), mode),
            *map(str, (folder / f"{config}.toml", folder / out, answer)),
        ],
        stdout=end,
        stderr=end,
        env=os.environ
        | {
            "JAX_COMPILATION_CACHE_DIR": str(folder / "compiled"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",  # as the command line does
        },
    )
    os.close(end)
    said: list[bytes] = []
    listener = threading.Thread(target=_listen, args=(terminal, said))
    listener.start()
    code = process.wait()
    seconds = time.perf_counter() - began
    listener.join()
    os.close(terminal)
    if code:
        raise RuntimeError(f"{mode} {config} ended with code {code}: {b''.join(said)[-2000:]!r}")
    return json.loads(answer.read_text()) | {"seconds": seconds}


def _listen(terminal: int, said: list[bytes]) -> None:
    """Read what is shown, so that the writer never waits."""
    while True:
        try:
            said.append(os.read(terminal, 65536))
        except OSError:  # the other end was closed
            return
