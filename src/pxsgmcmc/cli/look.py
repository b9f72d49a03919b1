"""The commands `pxsgmcmc show`, `list` and `verify`: a look at runs without changing them."""

import time
from collections import deque
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from pxsgmcmc.chain.parallel import chain_folders
from pxsgmcmc.config import parse_config
from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.store import Run, open_run
from pxsgmcmc.store import verify as verify_run
from pxsgmcmc.store.layout import MANIFEST


def show(directory: Annotated[str, tyro.conf.arg(metavar="DIR")]) -> None:
    """Say what a run is, how far it has come, and whether it is well.

    pxsgmcmc show runs/mine

    Args:
      directory: of the run.
    """
    folder = Path(directory)
    for one in chain_folders(folder) or [folder]:
        _print_rows(one, open_run(one))


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
            origin = run.manifest["origin"]
            seed = f"{origin.get('seed')}/{origin.get('chain')}"
            table.add_row(place, _status(run), _progress(run), _what(run), seed)
        except (CorruptRun, UserError):
            table.add_row(place, "damaged", "", f"see `pxsgmcmc verify {manifest.parent}`", "")
    console = Console()
    if table.row_count:
        console.print(table)
    else:
        console.print(f"No runs under {root}", highlight=False)


def verify(directory: Annotated[str, tyro.conf.arg(metavar="DIR")]) -> None:
    """Check every file of a run against what was written.

    pxsgmcmc verify runs/mine

    Exit code 0 if all is as it was written, 4 if anything is not.

    Args:
      directory: of the run.
    """
    folder = Path(directory)
    found = [verify_run(one) for one in chain_folders(folder) or [folder]]
    problems = [problem for one in found for problem in one.problems]
    if problems:
        more = f" ({len(problems) - 1} more problems)" if len(problems) > 1 else ""
        raise CorruptRun(problems[0] + more)
    size = sum(one.bytes for one in found) / 1e6
    print(f"{folder}: {sum(one.files for one in found)} files, {size:.1f} MB, as they were written")
    if leftovers := sum(len(one.leftovers) for one in found):
        print(f"{leftovers} leftovers of an interrupted write, no damage; resuming tidies them up")


def _print_rows(folder: Path, run: Run) -> None:
    facts, origin = run.manifest, run.manifest["origin"]
    rows = {
        "run": str(folder),
        "what": _what(run),
        "status": _status(run),
        "draws": _progress(run),
        "seed, chain": f"{origin.get('seed')}, {origin.get('chain')}",
        "made by": f"pxsgmcmc {facts['version']}, jax {origin['versions']['jax']}, "
        f"{origin['executor']} executor on {', '.join(sorted(set(origin['devices'])))}",
    }
    last = next(iter(deque(run.read_log(), maxlen=1)), None)
    if last:
        heat = ", ".join(f"{group} {value:.3g}" for group, value in last["temperature"].items())
        rows["last chunk"] = (
            f"step {last['step']}, {last['steps_per_second']:.3g} steps/s, energy "
            f"{last['energy']:.5g}, step size {last['step_size']:.2g}, {_ago(last['time'])} ago"
        )
        if heat:
            rows["kinetic temperature"] = heat
    if facts["progress"].get("divergence"):
        rows["divergence"] = facts["progress"]["divergence"]
    for note in run.notes:
        rows.setdefault("note", note)
    console, width = Console(), max(map(len, rows))
    for name, text in rows.items():
        console.print(f"{name.ljust(width)}  {text}", soft_wrap=True, markup=False, highlight=False)
    console.print()


def _what(run: Run) -> str:
    try:
        config = parse_config(run.config)
    except UserError:  # a chain that was started from Python has settings of its own
        return "started from Python"
    c, d = config.expansion.out, config.expansion.into
    names = [str(part.__struct_config__.tag) for part in (config.sampler, config.model)]
    expanded = f" expanded c={c} d={d}" if c or d else ""
    return f"{names[0]}{expanded} on {config.data.name}, {names[1]}"


def _status(run: Run) -> str:
    from pxsgmcmc.store import lock

    if run.status == "running" and not lock.writer(run.path):
        return "stopped (resume goes on)"
    return run.status


def _progress(run: Run) -> str:
    asked: Any = "?"
    for line in run.config.splitlines():
        if line.startswith("draws = "):
            asked = line.removeprefix("draws = ")
    return f"{len(run.draws)}/{asked}"


def _ago(moment: float) -> str:
    from pxsgmcmc.chain.progress import clock

    return clock(max(0.0, time.time() - moment))
