"""The command `pxsgmcmc report`: one HTML page on a run, or on several side by side."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import tyro

from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluation import artifacts
from pxsgmcmc.results import Diagnostics, Results
from pxsgmcmc.store import files, open_run

if TYPE_CHECKING:
    from pxsgmcmc.report import Reported

RESULTS, DIAGNOSTICS, REPORT = "results.json", "eval/diagnostics.json", "report.html"


def report(
    directories: Annotated[list[str], tyro.conf.arg(metavar="DIR")],
    out: Annotated[str | None, tyro.conf.arg(metavar="FILE", aliases=["-o"])] = None,
    title: str | None = None,
) -> None:
    """Write what was found out about a run, or about several side by side, as one HTML page.

    pxsgmcmc report runs/mine
    pxsgmcmc report runs/sghmc-* runs/px-* -o comparison.html

    The page of one run is kept in its directory. It needs no network, no script and no other file.

    Args:
      directories: of runs that `pxsgmcmc evaluate` has been through.
      out: the file to write; needed for several runs.
      title: of the page.
    """
    if len(directories) > 1 and out is None:
        raise UserError(
            f"`-o` must name the file to write for {len(directories)} runs, as in -o report.html."
        )
    page = page_on([Path(directory) for directory in directories], title).encode()
    if out is None:
        artifacts.write_artifact(directories[0], REPORT, page)
    else:
        files.write_file(Path(out).absolute(), page)
    place = Path(out) if out is not None else Path(directories[0]) / REPORT
    print(f"{place}, {len(page) / 1e6:.2f} MB: open it in a browser")


def page_on(folders: list[Path], title: str | None = None) -> str:
    """The page on these run directories, compared if there are several."""
    try:
        from pxsgmcmc.report import write_report
    except ModuleNotFoundError as error:
        raise UserError(
            f"A report needs the package {error.name!r}: pip install 'pxsgmcmc[report]'."
        ) from error
    runs = [read(folder) for folder in folders]
    if len(runs) == 1:
        return write_report(runs, title=title)
    from pxsgmcmc.evaluation.compare import compare

    return write_report(runs, compare([run.results for run in runs]), title)


def read(folder: Path) -> "Reported":
    """All that a report shows of one run directory, or of several chains in one."""
    from pxsgmcmc.report import Reported

    chains = [open_run(place) for place in artifacts.chains_in(folder) or [folder]]
    results = _artifact(folder, RESULTS, Results, "evaluate")
    if results is None:
        raise UserError(
            f"`{folder}` has no results yet: `pxsgmcmc evaluate {shlex.quote(str(folder))}` "
            "makes them."
        )
    return Reported(
        results=results,
        diagnostics=_artifact(folder, DIAGNOSTICS, Diagnostics, "diagnose"),
        logs=[list(chain.read_log()) for chain in chains],
        manifest=chains[0].manifest,
        config=chains[0].config,
        place=str(folder),
    )


def _artifact(folder: Path, name: str, kind: Any, made_by: str) -> Any:
    """A result of a run, None if it has not been made."""
    try:
        data = artifacts.read_artifact(folder, name)
    except UserError:
        return None
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise UserError(
            f"`{folder / name}` is not as this version writes it ({error}): make it again with "
            f"`pxsgmcmc {made_by} {shlex.quote(str(folder))}`."
        ) from error
