"""Measure steps side by side, hold the ratios against their bars, write docs/performance.md.

    python benchmarks/bench.py [PART ...]     some of PARTS below, or all

Numbers go to docs/performance.json, part by part, and the tables in the page are made from it.
Nothing else should run on the machine at that time.
"""

import argparse
import functools
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import same_network
import whole as whole_runs
from page import as_markdown, bar, judged, machine, table, write_page
from race import Candidate, race, race_together, ratio, spread

from pxsgmcmc.memory import LARGE_PAGES, TUNABLES

ROOT = Path(__file__).parents[1]
NUMBERS = ROOT / "docs" / "performance.json"

LARGE = {TUNABLES: LARGE_PAGES}  # as the command line starts
R8 = {"depth": 8, "width": 8, "size": 8, "channels": 1, "batch": 100, "rows": 1000}
MLP = {"model": "mlp", "depth": 2, "width": 64, "size": 8, "channels": 1, "batch": 100}
LAYOUTS = ("channels_last", "contiguous")
C1D1, C2D2 = {"out": 1, "into": 1}, {"out": 2, "into": 2}


def layers() -> dict[str, Any]:
    """One layer with its gradients at the three sizes of R20, batch 256: default and ours."""
    found = {}
    for name in ("convolution", "norm"):
        rows = []
        for size, width in ((32, 16), (16, 32), (8, 64)):
            shape = {"size": size, "width": width}
            label = f"{name}, {size} x {size} x {width}"
            default = Candidate(f"{label}, default", name, shape | {"layers": "xla"})
            times = race([default, Candidate(f"{label}, ours", name, shape)], steps=1, rounds=9)
            rows += table(times, default.label)
        found[name] = rows
    return found


def r20() -> dict[str, Any]:
    """R20-FRN-Swish at batch 256 on 32x32x3: the floor, ours, the default path, PyTorch."""
    candidates = [
        Candidate("floor", "floor"),
        Candidate("SGHMC", "sghmc"),
        Candidate("PX-SGHMC c=d=1", "sghmc", C1D1),
        Candidate("PX-SGHMC c=d=2", "sghmc", C2D2),
        Candidate("floor, default layers", "floor", {"layers": "xla"}),
        Candidate("SGHMC, large pages", "sghmc", environment=LARGE),
        *pytorch({f"PyTorch eager, {name}": f"torch_plain_{name}" for name in LAYOUTS}),
        *pytorch({f"PyTorch, norm by hand, {name}": f"torch_{name}" for name in LAYOUTS}),
        *pytorch({f"PyTorch eager, large, {x}": f"torch_plain_{x}" for x in LAYOUTS}, LARGE),
        *pytorch({f"PyTorch, by hand, large, {x}": f"torch_{x}" for x in LAYOUTS}, LARGE),
    ]
    times = race(candidates, steps=2, rounds=9, untimed=1)
    found: dict[str, Any] = {"steps": table(times, "floor")}
    px, plain = times["PX-SGHMC c=d=1"], times["SGHMC"]
    bars = [
        bar("SGHMC / floor", plain, times["floor"], 1.03),
        bar("PX-SGHMC c=d=1 / SGHMC", px, plain, 1.05),
        bar("PX-SGHMC c=d=2 / SGHMC", times["PX-SGHMC c=d=2"], plain, 1.10),
        bar("SGHMC / default path", plain, times["floor, default layers"], 0.67),
    ]
    rivals = [
        ("SGHMC", "PyTorch eager, channels_last", "PyTorch eager, channels last"),
        ("SGHMC", "PyTorch eager, {}", "PyTorch eager, its better layout"),
        ("SGHMC, large pages", "PyTorch eager, {}", "PyTorch eager, its better layout"),
        ("SGHMC, large pages", "PyTorch eager, large, {}", "PyTorch eager, large pages too"),
        ("SGHMC", "PyTorch, norm by hand, {}", "PyTorch, norm by hand"),
        ("SGHMC, large pages", "PyTorch, by hand, large, {}", "PyTorch, by hand, large pages too"),
    ]
    for ours, label, what in rivals:
        layouts = [times[label.format(name)] for name in LAYOUTS if label.format(name) in times]
        if layouts:
            best = min(layouts, key=lambda found: statistics.median(found.step_seconds))
            bars.append(bar(f"{ours} / {what}", times[ours], best, 1.0))
    return found | {"bars": bars}


def memory() -> dict[str, Any]:
    """R20 at batch 256: memory of the process, and of a step beyond it."""
    rows: list[dict[str, str]] = []
    bars: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        cache = {"JAX_COMPILATION_CACHE_DIR": folder}
        for how, environment in (("just compiled", {}), ("compiled before", cache)):
            candidates = [
                Candidate("SGHMC", "sghmc", environment=environment),
                Candidate("PX-SGHMC c=d=1", "sghmc", C1D1, environment=environment),
            ]
            if environment:
                race(candidates, steps=1, rounds=1)  # compiles
            # What is left behind differs from process to process, so there are several.
            pairs = [race(candidates, steps=1, rounds=2) for _ in range(5)]
            peaks, steps = [], []
            for label in (one.label for one in candidates):
                peak = [found[label].peak_mb for found in pairs]
                idle = [found[label].idle_mb for found in pairs]
                between, most = statistics.median(idle), statistics.median(peak)
                found = f"{between:.0f} MB between steps, {most:.0f} at most"
                rows.append({"what": f"{label}, {how}", "found": found})
                peaks.append(peak)
                steps.append([a - b for a, b in zip(peak, idle, strict=True)])
            what = f"PX c=d=1 / SGHMC, {how}"
            bars.append(judged(f"peak of the process, {what}", ratio(peaks[1], peaks[0]), 1.05))
            bars.append(judged(f"what a step adds, {what}", ratio(steps[1], steps[0]), 1.05))
    return {"memory": rows, "bars": bars}


def others() -> dict[str, Any]:
    """The other samplers, and what users would pick instead; each beside the floor."""
    plain = {"layers": "xla"}
    groups = [
        [
            Candidate("SGLD", "sgld"),
            Candidate("pSGLD", "psgld"),
            Candidate("SGNHT", "sgnht"),
            Candidate("PX-SGHMC c=d=1, rank p/8", "sghmc", C1D1 | {"rank": 0.125}),
            Candidate("PX-SGHMC c=d=1, rank p/4", "sghmc", C1D1 | {"rank": 0.25}),
        ],
        [
            Candidate("BlackJAX SGLD, default layers", "blackjax_sgld", plain),
            *pytorch(
                {
                    "PyTorch, compiled": "torch_compile",
                    "posteriors SGLD": "posteriors_sgld",
                    "posteriors SGHMC": "posteriors_sghmc",
                }
            ),
        ],
    ]
    rows = []
    for group in groups:
        times = race([Candidate("floor", "floor"), *group], steps=1, rounds=5)
        rows += table(times, "floor")[len(rows) > 0 :]
    desk = [
        Candidate("R8 gradient, bare", "gradient", R8),
        Candidate("R8 BlackJAX SGLD, default layers", "blackjax_sgld", R8 | plain),
        Candidate("R8 BlackJAX SGHMC, two gradients", "blackjax_sghmc", R8 | plain),
    ]
    times = race(desk, steps=10, rounds=5)
    return {"R20": rows, "R8": table(times, "R8 gradient, bare")}


def small() -> dict[str, Any]:
    """Desk-size networks: what a step costs beyond its gradient."""
    candidates = [
        Candidate("R8 gradient, bare", "gradient", R8),
        Candidate("R8 SGHMC", "sghmc", R8),
        Candidate("R8 SGHMC, steps called one by one", "sghmc", R8 | {"executor": "loop"}),
        Candidate("R8 SGHMC, large pages", "sghmc", R8, environment=LARGE),
        Candidate("R8 PX-SGHMC c=d=1", "sghmc", R8 | C1D1),
        Candidate("R8 dispatch of an empty step", "dispatch", R8),
    ]
    times = race(candidates, steps=100, rounds=15)
    found = {"R8": table(times, "R8 gradient, bare")}
    bars = [bar("R8 SGHMC / bare gradient", times["R8 SGHMC"], times["R8 gradient, bare"], 1.10)]
    candidates = [
        Candidate("MLP, bare scan", "bare_scan", MLP),
        Candidate("MLP, bare scan with energies", "bare_scan_energies", MLP),
        Candidate("MLP SGHMC", "sghmc", MLP | {"executor": "scan"}),
        Candidate("MLP dispatch of an empty step", "dispatch", MLP),
    ]
    times = race(candidates, steps=2000, rounds=15)
    found["MLP"] = table(times, "MLP, bare scan")
    for rival in ("bare scan", "bare scan with energies"):
        speed = ratio(times[f"MLP, {rival}"].step_seconds, times["MLP SGHMC"].step_seconds)
        what = f"MLP steps a second, scan executor / {rival}"
        bars.append(judged(what, speed, 0.97, at_least=True))
    return found | {"bars": bars}


def chains() -> dict[str, Any]:
    """R8: steps a second of one chain and of two at once, as `chains = 2` starts them."""
    two = [
        Candidate(f"chain {core}", "sghmc", R8 | {"threads": 1, "core": core}) for core in (0, 1)
    ]
    rows, bars = [], []
    for threads in (2, 1):
        one = Candidate("one", "sghmc", R8 | {"threads": threads})
        rates = race_together(one, two, steps=200, rounds=15)
        alone, both = (statistics.median(column) for column in zip(*rates, strict=True))
        what = f"one chain with threads = {threads}"
        found = f"{alone:.0f} steps a second; two with one thread each, {both:.0f}"
        rows.append({"what": what, "found": found})
        gain = spread([both / alone for alone, both in rates])
        bars.append(judged(f"R8, two chains / {what}", gain, 1.6, at_least=True))
    return {"chains": rows, "bars": bars}


def growth() -> dict[str, Any]:
    """How an SGHMC step of R20 at batch 64 grows."""
    base = {"batch": 64}
    changes: dict[str, dict[str, Any]] = {
        "batch 32": {"batch": 32},
        "batch 128": {"batch": 128},
        "width 8": {"width": 8},
        "width 32": {"width": 32},
        "depth 8": {"depth": 8},
        "depth 14": {"depth": 14},
        "c=1, d=0": {"out": 1},
        "c=d=1": C1D1,
        "c=d=2": C2D2,
        "c=d=1, rank p/8": C1D1 | {"rank": 0.125},
    }
    rows: list[dict[str, Any]] = []
    for label, change in changes.items():
        pair = [Candidate("base", "sghmc", base), Candidate(label, "sghmc", base | change)]
        rows += table(race(pair, steps=2, rounds=5), "base")[len(rows) > 0 :]
    return {"steps": rows}


def whole() -> dict[str, Any]:
    """Whole runs: starting, what a cycle loses, committing, predicting."""
    found = whole_runs.measure()
    warm = spread(found["warm_start_seconds"])
    lost = spread([100.0 * share for share in found["lost"]])
    rows = {
        "R20, process to first step, nothing compiled yet": f"{found['cold_start_seconds']:.1f} s",
        "R20, process to first step, compiled before": f"{warm} s",
        "R8, a cycle of 5,000 steps": f"{found['cycle_seconds']:.1f} s",
        **{
            f"committing a draw of {commit['draw_mb']:.2f} MB": f"{commit['commit_ms']:.1f} ms"
            for commit in found["commit"]
        },
        **{
            f"{net.upper()}, images x draws predicted a second": f"{rate:,.0f}"
            for net, rate in found["predict"].items()
        },
    }
    return {
        "runs": [{"what": what, "found": text} for what, text in rows.items()],
        "bars": [
            judged("R20, second start to first step, s", warm, 3.0),
            judged("R8, lost over a cycle of 5,000 steps, %", lost, 0.5),
        ],
    }


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "layers": layers,
    "r20": r20,
    "memory": memory,
    "others": others,
    "small": small,
    "chains": chains,
    "whole": whole,
    "growth": growth,
}


@functools.cache
def python_with_torch() -> str | None:
    """The interpreter that has PyTorch, once its network is known to be ours."""
    try:
        from torch_environment import python_of

        python = str(python_of(ROOT / ".bench-venv"))
    except Exception as error:
        print(f"  PyTorch is not measured: {error}")
        return None
    print(f"  PyTorch has the same network, to {same_network.check(python)}", flush=True)
    return python


def pytorch(
    names: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> list[Candidate]:
    """PyTorch candidates by label, in an environment of their own; none where it is not there."""
    python = python_with_torch()
    if python is None:
        return []
    return [
        Candidate(label, name, {}, "torch_worker.py", python, environment or {})
        for label, name in names.items()
    ]


def main() -> None:
    """Measure the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("parts", nargs="*", metavar="PART", help=" ".join(PARTS))
    parts = parser.parse_args().parts or list(PARTS)
    if unknown := set(parts) - set(PARTS):
        sys.exit(f"There is no part {min(unknown)!r}; known: {', '.join(PARTS)}.")
    numbers = json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else {}
    numbers["machine"] = machine()
    for part in parts:
        print(part, flush=True)
        numbers[part] = PARTS[part]()
        NUMBERS.write_text(json.dumps(numbers, indent=1) + "\n", "utf-8")
        write_page(numbers, PARTS)
    print(as_markdown(numbers, PARTS))


if __name__ == "__main__":
    main()
