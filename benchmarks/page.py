"""Rows, bars and the tables of docs/performance.md."""

import os
import platform
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from race import Ratio, Times, ratio

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"

Parts = Mapping[str, Callable[[], dict[str, Any]]]


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


def as_markdown(numbers: dict[str, Any], parts: Parts) -> str:
    """All tables: the bars first, then part by part."""
    lines = [f"Measured on {numbers['machine']}.", ""]
    bars = [row for part in parts for row in numbers.get(part, {}).get("bars", [])]
    if bars:
        lines += ["| what | bar | median (quartiles) | |", "|---|---|---|---|"]
        for row in bars:
            word = "reached" if row["reached"] else "**missed**"
            lines.append(f"| {row['what']} | {row['bar']} | {Ratio(**row['found'])} | {word} |")
        lines.append("")
    for part, measure in parts.items():
        for name, rows in numbers.get(part, {}).items():
            if name == "bars":
                continue
            title = (measure.__doc__ or "").split("\n")[0].rstrip(".")
            lines += [f"**{title}**" + (f" ({name})" if name != "steps" else ""), ""]
            lines += _told(rows) if "what" in rows[0] else _timed(rows)
            lines.append("")
    return "\n".join(lines)


def _timed(rows: list[dict[str, Any]]) -> list[str]:
    return [
        "| | step, ms | ratio | first step, s | peak while stepping, MB |",
        "|---|---|---|---|---|",
        *(
            f"| {row['candidate']} | {row['step_ms']:,.3g} | {Ratio(**row['ratio'])} | "
            f"{row['first_step_seconds']} | {row['peak_mb']} |"
            for row in rows
        ),
    ]


def _told(rows: list[dict[str, Any]]) -> list[str]:
    return [
        "| | |",
        "|---|---|",
        *(f"| {row['what']} | {row['found']} |" for row in rows),
    ]


def write_page(numbers: dict[str, Any], parts: Parts) -> None:
    """Put the tables between their marks."""
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{as_markdown(numbers, parts)}\n{END}{after}", "utf-8")
