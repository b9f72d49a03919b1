"""The command `pxsgmcmc jobs`: every chain under a folder, and how it stands."""

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from pxsgmcmc.cli.saying import say
from pxsgmcmc.errors import UserError, printable
from pxsgmcmc.progress import clock

if TYPE_CHECKING:
    from pxsgmcmc.jobs.standing import Standing


def jobs(
    folder: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")] = "runs",
) -> None:
    """Show every chain under a folder: waiting, running where, done, failed and why.

    pxsgmcmc jobs runs/study

    It reads files alone and changes nothing, so it works while the chains run and from every host
    that sees the folder. The host is that of the process which holds the chain's lock. A chain that
    is "stopped" goes on with `pxsgmcmc resume`. Jobs of `--engine slurm` that wait in the queue are
    shown with what Slurm says of them, those that failed before they made a run with the reason.

    Args:
      folder: of one run, of several chains, or of many of these.
    """
    from rich.console import Console
    from rich.table import Table

    from pxsgmcmc.jobs.queue_standing import with_queues
    from pxsgmcmc.jobs.standing import standings

    root = Path(folder)
    if not root.is_dir():
        raise UserError(f"There is no folder `{root}`; runs are made by `pxsgmcmc run`.")
    listed = with_queues(root, standings(root))
    if not listed:
        say(f"No runs under {printable(root)}")
        return
    headings = ("job", "state", "where", "draws", "steps/s", "left", "")
    table = Table(*headings, box=None, header_style="bold")
    for one in listed:
        table.add_row(*map(printable, (_name(root, one.folder), *_cells(one))))
    # Whoever reads through a pipe wants a line a job, however long.
    Console(markup=False, width=None if sys.stdout.isatty() else 10_000).print(table)
    say(_total(listed))


def _name(root: Path, folder: Path) -> str:
    return str(folder.relative_to(root)) if folder != root else folder.name or str(folder)


def _cells(one: "Standing") -> tuple[str, ...]:
    all_draws = "?" if one.all_draws is None else one.all_draws
    begun = one.all_draws is not None or one.draws > 0
    return (
        one.state,
        one.host,
        f"{one.draws}/{all_draws}" if begun else "",
        "" if one.speed is None else f"{one.speed:,.3g}",
        "" if one.seconds_left is None else clock(one.seconds_left),
        one.why,
    )


def _total(listed: list["Standing"]) -> str:
    """All of them in one line."""
    counts = Counter(one.state for one in listed)
    hosts = {one.host.partition(":")[0] for one in listed if one.host}
    parts = [
        f"{count} {state}" + (f" on {len(hosts)} host{'s' * (len(hosts) > 1)}" if running else "")
        for state, count in counts.most_common()
        for running in [state == "running"]
    ]
    left = [one.seconds_left for one in listed if one.seconds_left is not None]
    ends = f"; those that run end in about {clock(max(left))}" if left else ""
    return f"{len(listed)} job{'s' * (len(listed) > 1)}: {', '.join(parts)}{ends}"
