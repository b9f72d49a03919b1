"""The command `pxsgmcmc report`: one HTML page on a run, or on several side by side."""

from pathlib import Path
from typing import Annotated

import tyro

from pxsgmcmc.cli.opening import ProblemName, run_at
from pxsgmcmc.cli.outputs import check_target, write_output
from pxsgmcmc.cli.saying import say
from pxsgmcmc.errors import UserError, printable

REPORT = "report.html"


def report(
    directories: Annotated[list[str], tyro.conf.arg(metavar="DIR")],
    out: Annotated[str | None, tyro.conf.arg(metavar="FILE", aliases=["-o"])] = None,
    force: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    title: Annotated[str | None, tyro.conf.arg(metavar="TEXT")] = None,
    skip: int = 0,
    problem: ProblemName = None,
) -> None:
    """Write what was found out about a run, or about several side by side, as one HTML page.

    pxsgmcmc report runs/mine
    pxsgmcmc report runs/sghmc-* runs/px-* -o comparison.html

    The page of one run is kept in its directory. It needs no network, no script and no other file.
    A run that has not been evaluated and diagnosed is so first.

    Args:
      directories: of runs.
      out: the file to write; needed for several runs.
      force: replace it if it is there.
      title: of the page.
      skip: leave out so many draws at the start of each chain.
      problem: for runs made from Python, the function that returns their problem.
    """
    from pxsgmcmc.config.evaluate_options import options_of
    from pxsgmcmc.evaluate.report import page_on, results_of

    if len(directories) > 1 and out is None:
        raise UserError(
            f"`-o` must name the file to write for {len(directories)} runs, as in -o report.html."
        )
    target = None
    if out is not None and not (len(directories) == 1 and _is_own_page(out, directories[0])):
        target = check_target(out, force=force, endings=(".html", ".htm"), example=REPORT)
    runs = [run_at(directory, problem, skip) for directory in directories]
    for run in runs:
        if results_of(run) is None:  # as [evaluate] of its configuration asks
            run.evaluate(options_of(run), progress=True)
    page = page_on(runs, title, progress=True).encode()
    if target is None:
        runs[0].write_artifact(REPORT, page)
    else:
        write_output(target, page, force=force)
    place = target if target is not None else Path(directories[0]) / REPORT
    say(f"{printable(place)}, {len(page) / 1e6:.2f} MB: open it in a browser")


def _is_own_page(out: str, directory: str) -> bool:
    """Whether `out` is where the page of a run is kept anyway."""
    place = Path(out)
    return place.name == REPORT and place.parent.resolve() == Path(directory).resolve()
