"""The command `pxsgmcmc evaluate`: how good the predictions of a run are."""

from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from pxsgmcmc.cli.opening import Directory, ProblemName, run_at
from pxsgmcmc.cli.outputs import check_folder_target
from pxsgmcmc.errors import printable
from pxsgmcmc.metrics import title_of
from pxsgmcmc.results import Results, SplitResult


def evaluate_run(
    directory: Directory,
    outputs: Annotated[str | None, tyro.conf.arg(metavar="FOLDER")] = None,
    skip: int = 0,
    problem: ProblemName = None,
    settings: Annotated[list[str], tyro.conf.Suppress] = [],  # noqa: B006 - never changed
) -> None:
    """Measure a run on test rows, shifts, corruptions and out-of-distribution pairs.

    pxsgmcmc evaluate runs/mine
    pxsgmcmc evaluate runs/mine --skip 10
    pxsgmcmc evaluate runs/mine --evaluate.shifts '["digits-shift"]' --evaluate.corruptions true

    Which sets is said in the [evaluate] section of the run's configuration; its settings can be
    given as flags. Numbers and curves go to results.json in the run directory.

    Args:
      directory: of the run; several chains are taken together.
      outputs: keep what every draw says in this folder, one for each run. When the run has gained
        draws, only those are evaluated.
      skip: leave out so many draws at the start of each chain.
      problem: for a run made from Python, the function that returns its problem.
      settings: flags over [evaluate].
    """
    from pxsgmcmc.config.evaluate_options import options_of

    if outputs is not None:
        check_folder_target(outputs, "--outputs", may_exist=True)
    run = run_at(directory, problem, skip, settings)
    options = options_of(run, settings)
    results = run.evaluate(options, outputs=outputs, progress=True)
    console = Console(markup=False, highlight=False)
    subject = results.subject
    console.print(
        f"{subject.method} on {subject.data}, {subject.model}: {subject.draws} draws, "
        f"{subject.chains} {'chain' if subject.chains == 1 else 'chains'}, seed {subject.seed}",
        soft_wrap=True,
    )
    console.print(_table(results))
    if results.out_of_distribution:
        console.print(_detections(results))
    for remark in results.remarks:
        console.print(remark, soft_wrap=True)
    if results.verdict is not None and results.verdict.healthy is False:
        console.print(results.verdict.headline, soft_wrap=True)
        for warning in results.verdict.warnings:
            console.print(f"  {warning}", soft_wrap=True)
    console.print(f"all of it in {printable(directory)}/results.json", soft_wrap=True)


def _table(results: Results) -> Table:
    shown = results.headline
    table = Table("", "rows", *map(title_of, shown), box=None)
    for column in table.columns[1:]:
        column.justify = "right"

    def add(name: str, split: SplitResult | None) -> None:
        if split is not None:
            values = (_number(split.metrics.get(metric)) for metric in shown)
            table.add_row(name, f"{split.rows:,}", *values)

    add("test", results.test)
    add("validation", results.validation)
    add("train", results.train)
    for name, split in results.shifts.items():
        add(name, split)
    if results.corruptions is not None:
        for severity, split in results.corruptions.pooled.items():
            add("all corruptions" if severity == "all" else f"corrupted, {severity}", split)
    return table


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if abs(value) < 100.0 else f"{value:.5g}"


def _detections(results: Results) -> Table:
    """The table of out-of-distribution pairs, test rows being the positives."""
    columns = {"auroc": "AUROC", "tnr95_inside": "TNR95", "tnr99_inside": "TNR99"}
    columns["aupr_inside"] = "AUPR"
    table = Table("told from test rows by uncertainty", *columns.values(), box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, detection in results.out_of_distribution.items():
        cells = []
        for key in columns:
            spread = f" ± {detection.spread[key]:.4f}" if detection.spread[key] else ""
            cells.append(f"{detection.metrics[key]:.4f}{spread}")
        table.add_row(name, *cells)
    return table
