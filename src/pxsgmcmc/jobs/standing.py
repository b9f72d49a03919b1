"""How every chain under a folder stands, from its files alone, on any host that sees them."""

import time
from collections import deque
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from pxsgmcmc.errors import CorruptRun, UserError, printable
from pxsgmcmc.store import StoredRun, open_run
from pxsgmcmc.store.chains import is_several, not_begun, read_chains
from pxsgmcmc.store.holder import Holder
from pxsgmcmc.store.known_facts import LogLine
from pxsgmcmc.store.layout import MANIFEST, chain_folder
from pxsgmcmc.store.lock import LOCK, writer
from pxsgmcmc.store.places import run_folders

State = Literal["running", "failed", "stopped", "waiting", "done"]


class Standing(NamedTuple):
    """One chain.

    Attributes:
      folder: its run directory.
      state: "stopped" if nobody works on it and `pxsgmcmc resume` goes on.
      host: where it runs, with the number of its process; empty if it does not.
      draws: that it has.
      all_draws: that it will have; None if it does not say.
      speed: steps a second by the last line of its log; None before the first.
      seconds_left: by that speed; None if it does not run.
      why: it failed, or what else a person should know.
      silent: it seems to run, but its lock was not renewed for a lease.
    """

    folder: Path
    state: State
    host: str = ""
    draws: int = 0
    all_draws: int | None = None
    speed: float | None = None
    seconds_left: float | None = None
    why: str = ""
    silent: bool = False


def standings(root: str | Path) -> list[Standing]:
    """Every chain of every run under a folder.

    Nothing is written and no lock is taken, so it may be asked while chains run. Which process
    works on a chain is what its lock says: of one on another host, nothing else can be known.
    """
    listed = []
    for place in run_folders(Path(root)):
        try:
            listed += [standing(chain) for chain in _chains(place)]
        except (CorruptRun, UserError) as error:
            listed.append(Standing(place, "failed", why=str(error)))
    return listed


def _chains(place: Path) -> list[Path]:
    if not is_several(place):
        return [place]
    return [chain_folder(place, chain) for chain in range(read_chains(place).chains)]


def standing(folder: Path) -> Standing:
    """One chain, which may have yet to begin."""
    if not_begun(folder):
        return Standing(folder, "waiting")
    try:
        holder = writer(folder)
        host = "" if holder is None else f"{printable(holder.host)}:{holder.process}"
        if not (folder / MANIFEST).exists() and holder is not None:
            return Standing(folder, "running", host, why="starting")
        return _of_run(folder, open_run(folder), holder, host)
    except (CorruptRun, UserError) as error:
        return Standing(folder, "failed", why=str(error))


def _of_run(folder: Path, run: StoredRun, holder: Holder | None, host: str) -> Standing:
    known = Standing(folder, "stopped", host, len(run.draws), _draws_in_all(run.manifest))
    lines = deque(run.read_log(), maxlen=1)
    last = msgspec.convert(lines[0], LogLine) if lines else None
    if last is not None and last.steps_per_second > 0:
        known = known._replace(speed=last.steps_per_second)
    if holder is not None:
        why = "adding results" if run.status == "done" else ""
        silence = _silence(folder, holder)
        known = known._replace(state="running", why=silence or why, silent=bool(silence))
        if known.speed and last is not None and run.status != "done":
            left = max(0, last.total_steps - last.step) / known.speed
            known = known._replace(seconds_left=left)
        return known
    if run.status == "diverged":
        why = run.manifest["progress"].get("divergence", "diverged")
        return known._replace(state="failed", why=str(why))
    if run.status == "done":
        return known._replace(state="done")
    return known._replace(why="resume goes on")


def _draws_in_all(manifest: dict[str, Any]) -> int | None:
    total = manifest["progress"].get("draws")
    return manifest["origin"].get("collection", {}).get("draws") if total is None else total


def _silence(folder: Path, holder: Holder) -> str:
    """A word on a lock that was not renewed for a lease; by the clocks of two hosts, so no more."""
    try:
        silent = time.time() - (folder / LOCK).stat().st_mtime
    except OSError:  # it has just ended
        return ""
    return f"no sign of life for {silent:.0f} s" if silent > holder.lease else ""
