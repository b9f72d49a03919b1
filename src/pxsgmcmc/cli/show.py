"""The commands `pxsgmcmc show` and `verify`: a look at a run without changing it."""

import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import tyro

from pxsgmcmc.cli.run_facts import progress, status, what
from pxsgmcmc.cli.saying import say
from pxsgmcmc.errors import CorruptRun, printable
from pxsgmcmc.store import open_run, verify_chains
from pxsgmcmc.store import verify as verify_run
from pxsgmcmc.store.chains import is_several, not_begun, open_folders, read_chains
from pxsgmcmc.store.known_facts import LogLine
from pxsgmcmc.store.layout import chain_folders

if TYPE_CHECKING:
    from pxsgmcmc.run import Run


def show(directory: Annotated[str, tyro.conf.arg(metavar="DIR")]) -> None:
    """Say what a run is, how far it has come, and whether it is well.

    pxsgmcmc show runs/mine

    Args:
      directory: of the run.
    """
    folder = Path(directory)
    if not is_several(folder):
        _print(_rows(folder))
        return
    fault = None
    try:
        _print(_rows_together(folder))
    except CorruptRun as error:
        fault = error  # of what is there, all is shown first
    for one in chain_folders(folder):
        _print({"run": str(one), "status": "not begun"} if not_begun(one) else _rows(one))
    if fault is not None:
        raise fault


def verify(directory: Annotated[str, tyro.conf.arg(metavar="DIR")]) -> None:
    """Check every file of a run against what was written.

    pxsgmcmc verify runs/mine

    Exit code 0 if all is as it was written, 4 if anything is not.

    Args:
      directory: of the run.
    """
    folder = Path(directory)
    verified = verify_chains(folder) if is_several(folder) else verify_run(folder)
    if verified.problems:
        more = (
            f" ({len(verified.problems) - 1} more problems)" if len(verified.problems) > 1 else ""
        )
        raise CorruptRun(verified.problems[0] + more)
    size = f"{verified.files} files, {verified.bytes / 1e6:.1f} MB"
    say(f"{printable(folder)}: {size}, as they were written")
    if verified.leftovers:
        say(
            f"{len(verified.leftovers)} leftovers of an interrupted write, no damage; resuming "
            "tidies them up"
        )


def _print(rows: dict[str, str]) -> None:
    width = max(map(len, rows))
    for name, text in rows.items():
        say(f"{name.ljust(width)}  {printable(text)}")
    say()


def _rows_together(folder: Path) -> dict[str, str]:
    """What all chains are together, of which none may be missing."""
    from pxsgmcmc.run import Run

    records = [open_run(place) for place in open_folders(folder)]
    chains = read_chains(folder).chains
    late = chains - len(records)
    rows = {"run": str(folder), "chains": f"{chains}, {late} not begun" if late else str(chains)}
    if not records:
        return {**rows, "status": "not begun"}
    rows |= {
        "what": what(records[0]),
        "status": status(records, late),
        "draws": progress(records, chains),
    }
    return rows | _verdict_rows(Run(records, None, None, path=folder))


def _verdict_rows(seen: "Run") -> dict[str, str]:
    known = len(seen) > 0 or seen.status == "diverged"  # perhaps before its first draw
    if not known:
        return {"verdict": "not known yet"}
    warnings = {f"warning {n}": text for n, text in enumerate(seen.verdict.warnings, 1)}
    return {"verdict": seen.verdict.headline, **warnings}


def _rows(folder: Path) -> dict[str, str]:
    from pxsgmcmc.run import Run
    from pxsgmcmc.run.health import last_cycle_temperatures

    run = open_run(folder)
    seen = Run([run], None, None, path=folder)
    facts, origin = run.manifest, run.manifest["origin"]
    devices = origin.get("rounding", {}).get("devices", "?")
    rows = {
        "run": str(folder),
        "what": what(run),
        "status": status([run]),
        "draws": progress([run]),
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
    rows |= _verdict_rows(seen)
    if run.notes:
        rows["note"] = " ".join(run.notes)
    return rows


def _ago(moment: float) -> str:
    seconds = max(0.0, time.time() - moment)
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
