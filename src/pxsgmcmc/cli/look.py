"""The commands `pxsgmcmc show`, `list` and `verify`: a look at runs without changing them."""

import shlex
import sys
import time
from collections import deque
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from pxsgmcmc.config import Config, parse_config, started_from_python
from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.store import Run, lock, open_run
from pxsgmcmc.store import verify as verify_run
from pxsgmcmc.store.layout import CONFIG, MANIFEST, chain_folders


def show(directory: Annotated[str, tyro.conf.arg(metavar="DIR")]) -> None:
    """Say what a run is, how far it has come, and whether it is well.

    pxsgmcmc show runs/mine

    Args:
      directory: of the run.
    """
    folder = Path(directory)
    for one in chain_folders(folder) or [folder]:
        rows = {"run": str(one), "status": "not begun"} if _not_begun(one, folder) else _rows(one)
        width = max(map(len, rows))
        for name, text in rows.items():
            print(f"{name.ljust(width)}  {text}")
        print()


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
            table.add_row(place, _status(run), _progress(run), _what(run), seed)
        except CorruptRun:
            advice = f"pxsgmcmc verify {shlex.quote(str(manifest.parent))}"
            table.add_row(place, "damaged", "", f"see `{advice}`", "")
        except UserError as error:
            table.add_row(place, "unreadable", "", str(error), "")
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
    places = [one for one in chain_folders(folder) or [folder] if not _not_begun(one, folder)]
    found = [verify_run(one) for one in places]
    problems = [problem for one in found for problem in one.problems]
    if not problems and chain_folders(folder):
        problems = _check_common_config(folder, places)
    if problems:
        more = f" ({len(problems) - 1} more problems)" if len(problems) > 1 else ""
        raise CorruptRun(problems[0] + more)
    size = sum(one.bytes for one in found) / 1e6
    print(f"{folder}: {sum(one.files for one in found)} files, {size:.1f} MB, as they were written")
    if leftovers := sum(len(one.leftovers) for one in found):
        print(f"{leftovers} leftovers of an interrupted write, no damage; resuming tidies them up")


def _not_begun(place: Path, folder: Path) -> bool:
    """Whether `place` is that of one of several chains which has not written anything yet."""
    return place != folder and not any(place.iterdir())


def _check_common_config(folder: Path, places: list[Path]) -> list[str]:
    """The configuration above several chains has no hash of its own: each chain has its copy."""
    try:
        text = (folder / CONFIG).read_bytes()
    except OSError as error:
        return [f"`{folder / CONFIG}` cannot be read: {error.strerror}."]
    differs = any(open_run(place).config.encode() != text for place in places)
    return [f"`{folder / CONFIG}` is not what the chains were run with."] if differs else []


def _rows(folder: Path) -> dict[str, str]:
    run = open_run(folder)
    facts, origin = run.manifest, run.manifest["origin"]
    devices = ", ".join(sorted(set(origin.get("devices", ["?"]))))
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
        last = recent[-1]
        rows["last chunk"] = (
            f"step {last['step']}, {last['steps_per_second']:.3g} steps/s, energy "
            f"{last['energy']:.5g}, step size {last['step_size']:.2g}, {_ago(last['time'])} ago"
        )
    heat = _kinetic_temperature(recent)
    if heat:
        rows["kinetic temperature"] = ", ".join(f"{k} {v:.3g}" for k, v in heat.items())
    rows["health"] = "; ".join(_worries(run, heat)) or ("well" if recent else "not known yet")
    if run.notes:
        rows["note"] = " ".join(run.notes)
    return rows


def _kinetic_temperature(lines: list[dict[str, Any]]) -> dict[str, float]:
    """By group, the mean over the later half of the lines."""
    lines = lines[len(lines) // 2 :]
    groups = lines[-1]["temperature"] if lines else {}
    return {group: fmean(line["temperature"][group] for line in lines) for group in groups}


def _worries(run: Run, heat: dict[str, float]) -> list[str]:
    """What is not as in a healthy chain."""
    facts = run.manifest["progress"]
    worries = []
    if run.status == "diverged":
        worries.append(f"diverged: {facts.get('divergence', '')}")
    if back := facts.get("retried"):
        factor = back[-1]["step_size_factor"]
        worries.append(f"diverged and set back {len(back)} times, now {factor:g} of the step size")
    config = _config(run)
    expected = getattr(config.sampler, "temperature", 0.0) if config else 0.0
    for group, value in heat.items():
        if expected and not expected / 2 <= value <= expected * 2:
            worries.append(
                f"the kinetic temperature of {group}, {value:.3g}, is far from {expected:g}: too "
                "early, or `step_size` too large"
            )
    return worries


def _config(run: Run) -> Config | None:
    """None for a chain that was started from Python, or by a version with other settings."""
    try:
        return parse_config(run.config)
    except UserError:
        return None


def _what(run: Run) -> str:
    config = _config(run)
    if config is None:
        return "started from Python" if started_from_python(run.config) else "unknown settings"
    c, d = config.expansion.out, config.expansion.into
    names = [str(part.__struct_config__.tag) for part in (config.sampler, config.model)]
    expanded = f" expanded c={c} d={d}" if c or d else ""
    return f"{names[0]}{expanded} on {config.data.name}, {names[1]}"


def _status(run: Run) -> str:
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
    seconds = max(0.0, time.time() - moment)
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
