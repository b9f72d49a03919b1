"""Measure steps side by side, hold the ratios against their bars, write docs/performance.md.

    python benchmarks/bench.py [PART ...]     all, or some of: layers r20 others small growth

Numbers go to docs/performance.json, part by part, and the tables in the page are made from it.
Nothing else should run on the machine at that time.
"""

import argparse
import json
import os
import platform
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from race import Candidate, Ratio, Times, race, race_together, ratio, spread

ROOT = Path(__file__).parents[1]
PAGE, NUMBERS = ROOT / "docs" / "performance.md", ROOT / "docs" / "performance.json"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"

R8 = {"depth": 8, "width": 8, "size": 8, "channels": 1, "batch": 100, "rows": 1000}
MLP = {"model": "mlp", "depth": 2, "width": 64, "size": 8, "channels": 1, "batch": 100}
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
        *pytorch("torch_channels_last", "torch_contiguous"),
    ]
    times = race(candidates, steps=1, rounds=9)
    found = {"steps": table(times, "floor")}
    found["bars"] = [
        bar("SGHMC / floor", times["SGHMC"], times["floor"], 1.03),
        bar("PX-SGHMC c=d=1 / SGHMC", times["PX-SGHMC c=d=1"], times["SGHMC"], 1.05),
        bar("PX-SGHMC c=d=2 / SGHMC", times["PX-SGHMC c=d=2"], times["SGHMC"], 1.10),
        bar("SGHMC / default path", times["SGHMC"], times["floor, default layers"], 0.67),
    ]
    layouts = [times[label] for label in times if label.startswith("torch")]
    if layouts:
        best = min(layouts, key=lambda found: statistics.median(found.step_seconds))
        found["bars"].append(bar("SGHMC / PyTorch, its better layout", times["SGHMC"], best, 1.0))
    memory = times["PX-SGHMC c=d=1"].peak_mb / times["SGHMC"].peak_mb
    found["bars"].append(
        judged("peak memory, PX c=d=1 / SGHMC", Ratio(memory, memory, memory), 1.05)
    )
    return found


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
            Candidate("BlackJAX SGHMC, default layers", "blackjax_sghmc", plain),
            *pytorch("torch_compile", "posteriors_sgld", "posteriors_sghmc"),
        ],
    ]
    rows = []
    for group in groups:
        times = race([Candidate("floor", "floor"), *group], steps=1, rounds=5)
        rows += table(times, "floor")[len(rows) > 0 :]
    return {"steps": rows}


def small() -> dict[str, Any]:
    """Desk-size networks: what a step costs beyond its gradient; two chains at once."""
    candidates = [
        Candidate("R8 gradient, bare", "gradient", R8),
        Candidate("R8 SGHMC", "sghmc", R8),
        Candidate("R8 SGHMC, steps called one by one", "sghmc", R8 | {"executor": "loop"}),
        Candidate("R8 PX-SGHMC c=d=1", "sghmc", R8 | C1D1),
        Candidate("R8 dispatch of an empty step", "dispatch", R8),
    ]
    times = race(candidates, steps=100, rounds=15)
    found = {"R8": table(times, "R8 gradient, bare")}
    bars = [bar("R8 SGHMC / bare gradient", times["R8 SGHMC"], times["R8 gradient, bare"], 1.10)]
    candidates = [
        Candidate("MLP, bare scan", "bare_scan", MLP),
        Candidate("MLP SGHMC", "sghmc", MLP | {"executor": "scan"}),
        Candidate("MLP dispatch of an empty step", "dispatch", MLP),
    ]
    times = race(candidates, steps=2000, rounds=15)
    found["MLP"] = table(times, "MLP, bare scan")
    speed = ratio(times["MLP, bare scan"].step_seconds, times["MLP SGHMC"].step_seconds)
    bars.append(judged("MLP steps a second, scan executor / bare scan", speed, 0.97, at_least=True))
    one = Candidate("one", "sghmc", R8)
    two = [Candidate(f"chain {n}", "sghmc", R8 | {"threads": 1}) for n in (1, 2)]
    rates = race_together(one, two, steps=200, rounds=9)
    gain = spread([both / alone for alone, both in rates])
    bars.append(judged("R8, two chains / one, steps a second", gain, 1.6, at_least=True))
    return found | {"bars": bars}


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


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "layers": layers,
    "r20": r20,
    "others": others,
    "small": small,
    "growth": growth,
}


def pytorch(*names: str) -> list[Candidate]:
    """PyTorch candidates, in an environment of their own; none where it cannot be made."""
    try:
        from torch_environment import python_of

        python = str(python_of(ROOT / ".bench-venv"))
    except Exception as error:
        print(f"  PyTorch is not measured: {error}")
        return []
    return [Candidate(name, name, program="torch_worker.py", python=python) for name in names]


def table(times: dict[str, Times], reference: str) -> list[dict[str, Any]]:
    """A row a candidate: its step, its ratio to the reference, first step and memory."""
    return [
        {
            "candidate": label,
            "step_ms": round(1e3 * statistics.median(found.step_seconds), 3),
            "ratio": ratio(found.step_seconds, times[reference].step_seconds)._asdict(),
            "first_step_seconds": round(found.first_step_seconds, 1),
            "peak_mb": round(found.peak_mb),
        }
        for label, found in times.items()
    ]


def bar(what: str, above: Times, below: Times, most: float) -> dict[str, Any]:
    """A ratio of steps against the most it may be."""
    return judged(what, ratio(above.step_seconds, below.step_seconds), most)


def judged(what: str, found: Ratio, limit: float, at_least: bool = False) -> dict[str, Any]:
    """A ratio against its bar."""
    reached = found.median >= limit if at_least else found.median <= limit
    sign = ">=" if at_least else "<="
    return {"what": what, "bar": f"{sign} {limit:g}", "found": found._asdict(), "reached": reached}


def machine() -> str:
    """What it was measured on."""
    import jax

    names = [
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    cores = len(os.sched_getaffinity(0))
    return (
        f"{names[0] if names else platform.machine()}, {cores} cores, {platform.system()}, "
        f"Python {platform.python_version()}, JAX {jax.__version__}"
    )


def as_markdown(numbers: dict[str, Any]) -> str:
    """All tables."""
    lines = [f"Measured on {numbers['machine']}.", ""]
    bars = [row for part in PARTS for row in numbers.get(part, {}).get("bars", [])]
    if bars:
        lines += ["| what | bar | median (quartiles) | |", "|---|---|---|---|"]
        for row in bars:
            word = "reached" if row["reached"] else "**missed**"
            lines.append(f"| {row['what']} | {row['bar']} | {Ratio(**row['found'])} | {word} |")
        lines.append("")
    for part, measure in PARTS.items():
        for name, rows in numbers.get(part, {}).items():
            if name == "bars":
                continue
            title = (measure.__doc__ or "").split("\n")[0].rstrip(".")
            lines += [f"**{title}**" + (f" ({name})" if name != "steps" else ""), ""]
            lines += ["| | step, ms | ratio | first step, s | peak, MB |"]
            lines += ["|---|---|---|---|---|"]
            lines += [
                f"| {row['candidate']} | {row['step_ms']:,.3g} | {Ratio(**row['ratio'])} | "
                f"{row['first_step_seconds']} | {row['peak_mb']} |"
                for row in rows
            ]
            lines.append("")
    return "\n".join(lines)


def write_page(numbers: dict[str, Any]) -> None:
    """Put the tables between their marks."""
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{as_markdown(numbers)}\n{END}{after}", "utf-8")


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
        write_page(numbers)
    print(as_markdown(numbers))


if __name__ == "__main__":
    main()
