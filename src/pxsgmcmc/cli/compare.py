"""The command `pxsgmcmc compare`: runs side by side, over seeds."""

import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec
import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pxsgmcmc.cli.outputs import check_target, write_output
from pxsgmcmc.cli.saying import say
from pxsgmcmc.config.incidental import deciding
from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluate.compare import compare
from pxsgmcmc.evaluate.read_results import read_results
from pxsgmcmc.evaluate.setting_differences import setting_differences
from pxsgmcmc.results import Comparison, Difference, Results, Summary, write
from pxsgmcmc.store import open_run
from pxsgmcmc.store.layout import chain_folders


def compare_runs(
    directories: Annotated[list[str], tyro.conf.arg(metavar="DIR")],
    metrics: Annotated[list[str] | None, tyro.conf.arg(metavar="METRIC")] = None,
    paired: Annotated[bool | None, tyro.conf.arg(metavar="True|False")] = None,
    markdown: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    out: Annotated[str | None, tyro.conf.arg(metavar="FILE.json", aliases=["-o"])] = None,
    force: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
) -> None:
    """Put evaluated runs side by side: mean and spread over seeds, the best, and whether it counts.

    pxsgmcmc compare runs/sghmc-* runs/px-*
    pxsgmcmc compare runs/a runs/b --metrics test/nll ece --markdown
    pxsgmcmc compare runs/* -o comparison.json

    Runs of one method with the same settings are repetitions. Differences are tested over seeds, by
    Student's test with Holm's correction for the number of rows and by exact permutation.

    Args:
      directories: of runs that `pxsgmcmc evaluate` has been through.
      metrics: rows to show: test/nll, or all of a set (test), or one metric of all sets (nll).
      paired: test seed by seed; if not given, where the same seeds are there, at least six.
      markdown: print a table for a page.
      out: also write all of it as JSON.
      force: replace that file if it is there.
    """
    target = None
    if out is not None:
        target = check_target(out, force=force, endings=(".json",), example="comparison.json")
    results = _read(directories)
    comparison = compare(results, metrics=metrics, paired=paired)
    notes = _settings_told_apart(comparison, dict(zip(directories, results, strict=True)))
    comparison = msgspec.structs.replace(comparison, notes=[*notes, *comparison.notes])
    if target is not None:
        write_output(target, write(comparison), force=force)
    if markdown:
        say(_markdown(comparison))
    else:
        _show(comparison)


def _read(directories: list[str]) -> list[Results]:
    places = [Path(directory).resolve() for directory in directories]
    for directory, place in zip(directories, places, strict=True):
        if places.count(place) > 1:
            raise UserError(f"`{directory}` was given twice; give each run once.")
    return [read_results(Path(directory)) for directory in directories]


def _settings_told_apart(comparison: Comparison, results: dict[str, Results]) -> list[str]:
    """What sets methods apart that have the same name."""
    sentences = []
    for name in dict.fromkeys(method.method for method in comparison.methods):
        alike = {m.settings: m.name for m in comparison.methods if m.method == name}
        configs = {
            alike[result.subject.settings]: _settings(Path(directory))
            for directory, result in results.items()
            if result.subject.method == name
        }
        configured = {label: table for label, table in configs.items() if "sampler.name" in table}
        by_hand = {label: table for label, table in configs.items() if label not in configured}
        if configured and by_hand:
            labels, one = ", ".join(by_hand), len(by_hand) == 1
            sentences.append(
                f"{labels} {'was' if one else 'were'} started from Python: the program that made "
                f"{'it' if one else 'them'} has the settings."
            )
        sentences += setting_differences(configured) + setting_differences(by_hand)
    return sentences


def _settings(directory: Path) -> dict[str, Any]:
    """What decides the draws of a run, by full name; nothing if it cannot be read as TOML."""
    place = next(iter(chain_folders(directory)), directory)
    try:
        return deciding(tomllib.loads(open_run(place).config))
    except tomllib.TOMLDecodeError:
        return {}


def _head(comparison: Comparison) -> list[str]:
    count = [len(method.seeds) for method in comparison.methods]
    names = [
        f"{method.name}\n{n} seed{'s' * (n != 1)}"
        for method, n in zip(comparison.methods, count, strict=True)
    ]
    tests = ["difference", "p (t, Holm)", "p (perm.)"]
    return ["", *names, *(tests if _two(comparison) else [])]


def _two(comparison: Comparison) -> bool:
    """Whether differences fit beside the metrics: there is one pair of methods."""
    return len(comparison.methods) == 2 and bool(comparison.differences)


def _cells(comparison: Comparison, best: str, other: str) -> list[list[str]]:
    """The table without its head; `best` is how to write a best mean, `other` any other."""
    tested = {difference.row: difference for difference in comparison.differences}
    arrows = {True: " ↓", False: " ↑", None: ""}
    cells = []
    for row in comparison.rows:
        line = [row.title + arrows[row.lower_is_better]]
        line += [
            _mean(summary, best if summary and summary.best else other) for summary in row.methods
        ]
        if _two(comparison):
            line += _test(tested[row.key]) if row.key in tested else [""] * 3
        cells.append(line)
    return cells


def _mean(summary: Summary | None, form: str) -> str:
    if summary is None:
        return form.format("-")
    spread = "" if summary.sd is None else f" ± {_number(summary.sd)}"
    return form.format(_number(summary.mean) + spread)


def _test(difference: Difference) -> list[str]:
    t = difference.t_corrected
    mark = " !" if difference.told_apart else "  "
    shown = "-" if t is None else f"{t:.2g}"
    return [f"{difference.difference:+.4f}{mark}", shown, f"{difference.permutation:.2g}"]


def _number(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 100.0 else f"{value:.4g}"


def _show(comparison: Comparison) -> None:
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    console.print(f"{comparison.model} on {comparison.data}", markup=False, soft_wrap=True)
    console.print(_table(_head(comparison), _cells(comparison, "{} *", "{}  ")))
    if len(comparison.methods) > 2 and comparison.differences:
        titles = {row.key: row.title for row in comparison.rows}
        head = ["", "second minus first", "difference", "p (t, Holm)", "p (perm.)"]
        rows = [
            [titles[d.row], f"{d.second} - {d.first}", *_test(d)] for d in comparison.differences
        ]
        console.print(_table(head, rows))
    for sentence in _sentences(comparison):
        console.print(sentence, markup=False, soft_wrap=True)


def _table(head: list[str], rows: list[list[str]]) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for place, title in enumerate(head):
        table.add_column(Text(title), justify="right" if place else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style="bold" if cell.endswith("*") else "") for cell in row))
    return table


def _sentences(comparison: Comparison) -> list[str]:
    """How to read the table, what was told apart, and what to be careful with."""
    several = any(len(method.seeds) > 1 for method in comparison.methods)
    lines = ["± is the standard deviation over seeds."] if several else []
    if len(comparison.methods) > 1:
        lines.append("* marks the best mean of a row, ↓ and ↑ which way is better.")
    if comparison.differences:
        how = "paired by seed" if all(d.paired for d in comparison.differences) else "not paired"
        tests = sum(d.t is not None for d in comparison.differences)
        lines.append(
            f"p-values are two-sided, {how}; Holm's correction is for {tests} tests. "
            "! marks what both tests tell apart at 0.05."
        )
        if not any(d.told_apart for d in comparison.differences):
            lines.append("No difference was told apart from chance.")
    return [*lines, *comparison.notes]


def _markdown(comparison: Comparison) -> str:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(" ".join(c.replace("|", "\\|").split()) for c in cells) + " |"

    head = _head(comparison)
    rule = "|" + "|".join(["---"] + ["---:"] * (len(head) - 1)) + "|"
    rows = [line(cells) for cells in _cells(comparison, "**{}**", "{}")]
    notes = [sentence.replace("* marks", "Bold marks") for sentence in _sentences(comparison)]
    return "\n".join([line(head), rule, *rows, "", " ".join(notes)])
