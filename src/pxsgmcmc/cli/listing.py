"""The command `pxsgmcmc list`: a line for each run, however many chains it has."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from pxsgmcmc.cli.run_facts import progress, status, what
from pxsgmcmc.cli.saying import say
from pxsgmcmc.errors import CorruptRun, UserError, printable
from pxsgmcmc.store import StoredRun, open_run
from pxsgmcmc.store.chains import is_several, open_folders, read_chains
from pxsgmcmc.store.places import run_folders


def list_runs(
    folder: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")] = "runs",
) -> None:
    """List the runs under a folder.

    pxsgmcmc list
    pxsgmcmc list runs/study

    Args:
      folder: where to look.
    """
    root = Path(folder)
    if not root.is_dir():
        raise UserError(f"There is no folder `{root}`; runs are made by `pxsgmcmc run`.")
    table = Table("run", "status", "draws", "what", "seed", box=None, header_style="bold")
    for place in run_folders(root):
        table.add_row(*map(printable, (str(place.relative_to(root.parent)), *_cells(place))))
    if table.row_count:
        # Whoever reads through a pipe wants a line a run, however long.
        Console(markup=False, width=None if sys.stdout.isatty() else 10_000).print(table)
    else:
        say(f"No runs under {printable(root)}")


def _cells(place: Path) -> tuple[str, str, str, str]:
    """Status, draws, what it is, and its seed."""
    try:
        if not is_several(place):
            return _of([open_run(place)], 1)
        chains = read_chains(place).chains
        records = [open_run(one) for one in open_folders(place)]
        if not records:
            return "not begun", "", f"{chains} chains", ""
        return _of(records, chains)
    except CorruptRun:
        advice = f"pxsgmcmc verify {shlex.quote(str(place))}"
        return "damaged", "", f"see `{advice}`", ""
    except UserError as error:
        return "unreadable", "", str(error), ""


def _of(records: list[StoredRun], chains: int) -> tuple[str, str, str, str]:
    seed = str(records[0].manifest["origin"].get("seed", "?"))
    several = f", {chains} chains" if chains > 1 else ""
    description = what(records[0]) + several
    return status(records, chains - len(records)), progress(records, chains), description, seed
