"""Where the time of a gradient of R20 goes, by the function of ours that asked for the work.

    python benchmarks/where_time_goes.py [key=value ...]         settings as in problem.py

XLA's operations are timed by `jax.profiler` and traced back through the program's stack frames.
Convolutions that XLA hands to its own threads are not timed; they are in the rest of the wall time.
Without the profiler it then counts the pages that a gradient touches anew, and the kernel's time.
"""

import collections
import gzip
import json
import re
import resource
import sys
import tempfile
import time
from pathlib import Path

import jax
from problem import problem, read_setting

REPEATS = 5


def functions_by_operation(program: str) -> dict[str, str]:
    """The innermost function of pxsgmcmc behind each operation of a compiled program."""
    tables: dict[str, dict[int, str]] = {}
    for title in ("FileNames", "FunctionNames", "FileLocations", "StackFrames"):
        found = re.search(rf"^{title}\n((?:\d+ .*\n)+)", program, re.MULTILINE)
        assert found, title
        rows = (line.split(" ", 1) for line in found[1].splitlines())
        tables[title] = {int(number): text for number, text in rows}

    def number(text: str, key: str) -> int:
        found = re.search(rf"{key}=(\d+)", text)
        return int(found[1]) if found else 0

    def blame(frame: int) -> str:
        while frame:
            facts = tables["StackFrames"][frame]
            place = tables["FileLocations"][number(facts, "file_location_id")]
            file = tables["FileNames"][number(place, "file_name_id")]
            if "/pxsgmcmc/" in file:
                function = tables["FunctionNames"][number(place, "function_name_id")].strip('"')
                return f"{Path(file.strip(chr(34))).name}: {function.split('.<locals>')[0]}"
            frame = number(facts, "parent_frame_id") - 1
        return "other"

    operation = re.compile(r"%([\w.-]+) = .*stack_frame_id=(\d+)")
    return {name: blame(int(frame)) for name, frame in operation.findall(program)}


def main() -> None:
    """Print milliseconds by function."""
    setting = read_setting(["rows=512", *sys.argv[1:]])
    parts = problem(setting)
    batch = jax.tree.map(lambda x: x[: setting.batch], parts.data)
    compiled = jax.jit(jax.value_and_grad(parts.energy)).lower(parts.position, batch).compile()
    jax.block_until_ready(compiled(parts.position, batch))
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            began = time.perf_counter()
            for _ in range(REPEATS):
                jax.block_until_ready(compiled(parts.position, batch))
            wall = 1e3 * (time.perf_counter() - began) / REPEATS
        (trace,) = Path(folder).rglob("*.trace.json.gz")
        events = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
    blamed = functions_by_operation(compiled.as_text())
    spent: collections.Counter[str] = collections.Counter()
    for event in events:
        name = event.get("args", {}).get("hlo_op")
        if event.get("ph") == "X" and name and not name.startswith("while"):
            spent[blamed.get(name, "other")] += event["dur"] / 1e3 / REPEATS
    for name, milliseconds in spent.most_common(14):
        print(f"{milliseconds:8.1f} ms  {name}")
    print(f"{sum(spent.values()):8.1f} ms  all that is timed, of {wall:.1f} ms a gradient")
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(REPEATS):
        jax.block_until_ready(compiled(parts.position, batch))
    after = resource.getrusage(resource.RUSAGE_SELF)
    pages = (after.ru_minflt - before.ru_minflt) / REPEATS
    user = 1e3 * (after.ru_utime - before.ru_utime) / REPEATS
    system = 1e3 * (after.ru_stime - before.ru_stime) / REPEATS
    print(f"{pages:,.0f} pages; on all cores {user:.0f} ms, and {system:.0f} ms of the kernel")


if __name__ == "__main__":
    main()
