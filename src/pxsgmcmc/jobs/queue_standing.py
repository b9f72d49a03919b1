"""How jobs stand that were handed to a queue: what the folders of their runs alone cannot say.

A run directory knows of draws and of the process that writes. That a job waits for its turn, again
or for the first time, and why one failed before it made a run, is on its sheet.
"""

import os
import shutil
from pathlib import Path

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.jobs.queue import Seen
from pxsgmcmc.jobs.queued import is_answer
from pxsgmcmc.jobs.sheet import SHEETS, Sheet, sheets_in
from pxsgmcmc.jobs.slurm import look_at_slurm
from pxsgmcmc.jobs.standing import Standing
from pxsgmcmc.store.lock import writer


def with_queues(root: Path, known: list[Standing]) -> list[Standing]:
    """What is known of runs under a folder, with what sheets of jobs there and above it say.

    Nothing is written. Slurm is asked where its commands are on PATH; elsewhere a job that the last
    look left in its queue counts as one that waits there.
    """
    standing = {os.path.abspath(one.folder): one for one in known}
    top = Path(os.path.abspath(root))
    above = [folder / SHEETS for folder in top.parents[:2]]  # of a chain of several, two levels
    for place in sorted({*top.rglob(SHEETS), *above}):
        for sheet in sheets_in(place):  # of two that have a job, the later one is right
            seen = _queue_states(sheet)
            for number, name in _jobs_under(sheet, str(top)):
                shown = root / os.path.relpath(name, top)
                before = standing.get(name, Standing(shown, "waiting"))
                standing[name] = _corrected(before, sheet, number, seen)
    return [standing[name] for name in sorted(standing)]


def _jobs_under(sheet: Sheet, root: str) -> list[tuple[int, str]]:
    jobs = []
    for number in sheet.numbers():
        try:
            folder = sheet.job(number).folder
        except (CorruptRun, UserError):  # its sheet is being removed
            continue
        if os.path.isabs(folder) and os.path.commonpath([folder, root]) == root:
            jobs.append((number, folder))
    return jobs


def _queue_states(sheet: Sheet) -> dict[str, Seen] | None:
    """What Slurm says; None if it cannot be asked."""
    if sheet.facts.engine != "slurm" or shutil.which("squeue") is None:
        return None
    return look_at_slurm()


def _corrected(one: Standing, sheet: Sheet, number: int, seen: dict[str, Seen] | None) -> Standing:
    there = (seen or {}).get(sheet.names().get(number, ""))
    if one.silent and there is not None and not there.running:  # its host was lost
        why = f"in the queue of slurm ({there.why}); on {one.host} {one.why}"
        return one._replace(state="waiting", host="", seconds_left=None, why=why)
    if one.state not in ("waiting", "stopped"):
        return one
    end = sheet.end(number)
    if end is not None and end.code != 0 and is_answer(end.code):
        return one._replace(state="failed", why=sheet.sentence(number))
    if seen is not None:
        if there is not None and there.running:
            return one._replace(state="running", host=there.where, why="starting")
        waits = there is not None
        why = f"in the queue of slurm ({there.why})" if there is not None else ""
    else:
        waits = not sheet.stopping and writer(sheet.folder) is not None
        why = f"in the queue of {sheet.facts.engine}"
    if waits:
        return one._replace(state="waiting", why=why)
    return one._replace(state="stopped", why="no queue has it; the same command goes on")
