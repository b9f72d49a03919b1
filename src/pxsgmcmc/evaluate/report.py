"""One HTML page on a run, or on several side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluate.compare import compare
from pxsgmcmc.progress import Show
from pxsgmcmc.results import Diagnostics, Results
from pxsgmcmc.run import DIAGNOSTICS, RESULTS, Run
from pxsgmcmc.run.kept_results import kept_with
from pxsgmcmc.store import files


def report_on(run: Run, path: str | Path, title: str | None = None) -> Path:
    """Write the page, evaluating and diagnosing first what has not been.

    Args:
      run: its draws.
      path: of the file to write.
      title: of the page.
    """
    target = Path(path).absolute()
    files.write_file(target, page_on([run], title).encode())
    return target


def page_on(runs: Sequence[Run], title: str | None = None, progress: Show = False) -> str:
    """The page on these runs, compared if there are several."""
    try:
        from pxsgmcmc.report import write_report
    except ModuleNotFoundError as error:
        raise UserError(
            f"A report needs the package {error.name!r}: pip install 'pxsgmcmc[report]'."
        ) from error
    reported = [reported_on(run, len(runs) == 1, progress) for run in runs]
    if len(reported) == 1:
        return write_report(reported, title=title)
    return write_report(reported, compare([one.results for one in reported]), title)


def reported_on(run: Run, diagnosed: bool, progress: Show = False) -> Any:
    """What a report is made of: evaluated first, and diagnosed if asked for, where it was not."""
    from pxsgmcmc.report import Reported

    evaluation, diagnostics = results_of(run), kept_with(run, DIAGNOSTICS, Diagnostics)
    if evaluation is None:
        evaluation = run.evaluate(progress=progress)
    if diagnostics is None and diagnosed:
        diagnostics = run.diagnose(progress=progress)
    return Reported(
        results=evaluation,
        diagnostics=diagnostics,
        logs=[list(record.read_log()) for record in run.records],
        manifest=run.records[0].manifest,
        config=run.records[0].config,
        place=str(run.path) if run.path is not None else "a run in memory",
    )


def results_of(run: Run) -> Results | None:
    """What `evaluate` found out about these very draws, None if it has not been asked."""
    return kept_with(run, RESULTS, Results)
