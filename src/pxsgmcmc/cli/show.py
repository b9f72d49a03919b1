"""The commands `pxsgmcmc show`, `list` and `verify`: a look at runs without changing them."""

import shlex
import sys
import time
from collections import deque
from pathlib import Path
from typing import Annotated

import msgspec
import tyro
from rich.console import Console
from rich.table import Table

from pxsgmcmc.config import started_from_python
from pxsgmcmc.errors import CorruptRun, UserError, printable
from pxsgmcmc.store import Run as StoredRun
from pxsgmcmc.store import lock, open_run, verify_chains
from pxsgmcmc.store import verify as verify_run
from pxsgmcmc.store.chains import is_several, not_begun, open_folders
from pxsgmcmc.store.known_facts import LogLine
from pxsgmcmc.store.layout import MANIFEST, chain_folders


def show(directory: Annotated[str, tyro.conf.arg(metavar="DIR")]) -> None:
    """Say what a run is, how far it has come, and whether it is well.

    pxsgmcmc show runs/mine

    Args:
      directory: of the run.
    """
    folder = Path(directory)
    several = is_several(folder)
    for one in chain_folders(folder) if several else [folder]:
        begun = not (several and not_begun(one))
        rows = _rows(one) if begun else {"run": str(one), "status": "not begun"}
        width = max(map(len, rows))
        for name, text in rows.items():
            print(f"{name.ljust(width)}  {printable(text)}")
        print()
    if several:
        open_folders(folder)  # says so if a chain is missing


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
    for manifest in sorted(root.rglob(MANIFEST)):
        place = str(manifest.parent.relative_to(root.parent))
        try:
            run = open_run(manifest.parent)
            seed = str(run.manifest["origin"].get("seed", "?"))
            cells = (place, _status(run), _progress(run), _what(run), seed)
        except CorruptRun:
            advice = f"pxsgmcmc verify {shlex.quote(str(manifest.parent))}"
            cells = (place, "damaged", "", f"see `{advice}`", "")
        except UserError as error:
            cells = (place, "unreadable", "", str(error), "")
        table.add_row(*map(printable, cells))
    if table.row_count:
        # Whoever reads through a pipe wants a line a run, however long.
        Console(markup=False, width=None if sys.stdout.isatty() else 10_000).print(table)
    else:
        print(f"No runs under {root}")


def verify(directory: Annotated[str, tyro.conf.arg(metavar="DIR")]) -> None:
    """Check every file of a run against what was written.

    pxsgmcmc verify runs/mine

    Exit code 0 if all is as it was written, 4 if anything is not.

    Args:
      directory: of the run.
    """
    folder = Path(directory)
    found = verify_chains(folder) if is_several(folder) else verify_run(folder)
    if found.problems:
        more = f" ({len(found.problems) - 1} more problems)" if len(found.problems) > 1 else ""
        raise CorruptRun(found.problems[0] + more)
    size = f"{found.files} files, {found.bytes / 1e6:.1f} MB"
    print(f"{printable(folder)}: {size}, as they were written")
    if found.leftovers:
        print(
            f"{len(found.leftovers)} leftovers of an interrupted write, no damage; resuming tidies "
            "them up"
        )


def _rows(folder: Path) -> dict[str, str]:
    from pxsgmcmc.run import Run
    from pxsgmcmc.run.health import last_cycle_temperatures

    run = open_run(folder)
    seen = Run([run], None, None, path=folder)
    facts, origin = run.manifest, run.manifest["origin"]
    devices = origin.get("rounding", {}).get("devices", "?")
    rows = {
        "run": str(folder),
        "what": _what(run),
        "status": _status(run),
        "draws": _progress(run),
        "seed, chain": f"{origin.get('seed', '?')}, {origin.get('chain', '?')}",
        "made by": f"pxsgmcmc {facts['version']}, jax {origin.get('versions', {}).get('jax', '?')},"
        f" {origin.get('executor', '?')} executor on {devices}",
    }
    recent = list(deque(run.read_log(), maxlen=20))
    if recent:
        last = msgspec.convert(recent[-1], LogLine)
        rows["last chunk"] = (
            f"step {last.step}, {last.steps_per_second:.3g} steps/s, energy {last.energy:.5g}, "
            f"step size {last.step_size:.2g}, {_ago(last.time)} ago"
        )
    if heat := last_cycle_temperatures(seen):
        rows["kinetic temperature"] = ", ".join(f"{k} {v}" for k, v in heat.items())
    verdict = seen.verdict
    known = len(seen) > 0 or run.status == "diverged"  # perhaps before its first draw
    rows["verdict"] = verdict.headline if known else "not known yet"
    for number, warning in enumerate(verdict.warnings if known else [], 1):
        rows[f"warning {number}"] = warning
    if run.notes:
        rows["note"] = " ".join(run.notes)
    return rows


def _what(run: StoredRun) -> str:
    origin = run.manifest["origin"]
    method, data = origin.get("method", "a sampler"), origin.get("data", "data")
    python = ", started from Python" if started_from_python(run.config) else ""
    return f"{method} on {data}, {origin.get('model', 'a network')}{python}"


def _status(run: StoredRun) -> str:
    if run.status == "running" and not lock.writer(run.path):
        return "stopped (resume goes on)"
    return run.status


def _progress(run: StoredRun) -> str:
    asked = run.manifest["progress"].get("draws")
    if asked is None:
        asked = run.manifest["origin"].get("collection", {}).get("draws", "?")
    return f"{len(run.draws)}/{asked}"


def _ago(moment: float) -> str:
    seconds = max(0.0, time.time() - moment)
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
