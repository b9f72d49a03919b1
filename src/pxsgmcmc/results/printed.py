"""Results as a few lines of text, for a notebook or a terminal, without curves and pictures."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pxsgmcmc.results.part import Subject

if TYPE_CHECKING:
    from pxsgmcmc.results.diagnostics import Diagnostics
    from pxsgmcmc.results.evaluation import Results

_MOST_SETS = 8  # of labelled data, a line each
_MOST_METRICS = 5
_USUAL = ("err", "rmse", "nll", "ece", "crps", "coverage90")
_LONGEST = 96  # characters of a line


def results_in_lines(results: "Results") -> str:
    """The sets with their main metrics, and the verdict."""
    pooled = results.corruptions.pooled.get("all") if results.corruptions else None
    sets = {"train": results.train, "validation": results.validation, "test": results.test}
    sets |= {"corrupted": pooled}
    sets |= {f"shift {name}": split for name, split in results.shifts.items()}
    measured = {name: split for name, split in sets.items() if split is not None}
    known = results.test.metrics
    names = [name for name in results.headline or _USUAL if name in known] or list(known)
    names = names[:_MOST_METRICS]
    rows = [
        [name, f"{split.rows:,}", *(_value(split.metrics, metric) for metric in names)]
        for name, split in measured.items()
    ]
    lines = [f"Results: {_subject(results.subject)}"]
    lines += _table([["", "rows", *names], *_fewer(rows)])
    areas = [
        f"{name} {_value(detection.metrics, 'auroc')}"
        for name, detection in results.out_of_distribution.items()
    ]
    if areas:
        lines.append(f"out of distribution, auroc: {', '.join(areas)}")
    lines += results.remarks
    if results.verdict is not None:
        lines.append(f"verdict: {results.verdict.headline}")
    return "\n".join(map(_short, lines))


def diagnostics_in_lines(diagnostics: "Diagnostics") -> str:
    """What was diagnosed, what could not be and why, and the verdict."""
    lines = [f"Diagnostics: {_subject(diagnostics.subject)}"]
    parts = {name: getattr(diagnostics, name) for name in type(diagnostics).__struct_fields__}
    reasons = {name: part.reason for name, part in parts.items() if hasattr(part, "reason")}
    apart = {"subject", "verdict", "format", *reasons}
    lines.append(f"has {', '.join(name for name in parts if name not in apart) or 'nothing'}")
    lines += [f"no {name}: {reason}" for name, reason in reasons.items()]
    if diagnostics.verdict is not None:
        lines.append(f"verdict: {diagnostics.verdict.headline}")
    return "\n".join(map(_short, lines))


def _subject(subject: Subject) -> str:
    many = f"{subject.chains} chain{'s' * (subject.chains != 1)}"
    return f"{subject.method} on {subject.data}, {subject.draws:,} draws of {many}"


def _value(metrics: Mapping[str, float], name: str) -> str:
    return f"{metrics[name]:.4g}" if name in metrics else "-"


def _fewer(rows: list[list[str]]) -> list[list[str]]:
    if len(rows) <= _MOST_SETS:
        return rows
    return [*rows[:_MOST_SETS], [f"and {len(rows) - _MOST_SETS} more sets"]]


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines with the first column to the left and the others to the right."""
    columns = len(rows[0])
    padded = [[*row, *[""] * (columns - len(row))] for row in rows]
    padded = [[_short(row[0], 40), *row[1:]] for row in padded]
    widths = [max(map(len, column)) for column in zip(*padded, strict=True)]
    for row in padded:
        cells = [row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]
        yield ("  " + "  ".join(cells)).rstrip()


def _short(line: str, longest: int = _LONGEST) -> str:
    line = " ".join(line.split("\n"))
    return line if len(line) <= longest else line[: longest - 1] + "…"
