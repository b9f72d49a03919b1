"""What a run is and how far it has come, in a few words."""

from collections.abc import Sequence
from typing import Any

from pxsgmcmc.config import started_from_python
from pxsgmcmc.store import StoredRun, lock

_WORST_FIRST = ("diverged", "interrupted", "stopped (resume goes on)", "running", "done")


def what(run: StoredRun) -> str:
    """Method, data and network."""
    origin = run.manifest["origin"]
    method, data = origin.get("method", "a sampler"), origin.get("data", "data")
    python = ", started from Python" if started_from_python(run.config) else ""
    return f"{method} on {data}, {origin.get('model', 'a network')}{python}"


def status(runs: Sequence[StoredRun], late: int = 0) -> str:
    """That of the chain that is worst off, and whether others have yet to begin."""
    worst = min(map(_status, runs), key=_WORST_FIRST.index)
    return f"{worst}, {late} of {late + len(runs)} chains not begun" if late else worst


def _status(run: StoredRun) -> str:
    if run.status == "running" and not lock.writer(run.path):
        return "stopped (resume goes on)"
    return run.status


def progress(runs: Sequence[StoredRun], chains: int = 1) -> str:
    """Draws that there are and that there will be, of all chains."""
    totals = [_draws_in_all(run) for run in runs]
    totals += totals[:1] * (chains - len(runs))  # those that have not begun will be like the others
    total = sum(totals) if all(isinstance(draws, int) for draws in totals) else "?"
    return f"{sum(len(run.draws) for run in runs)}/{total}"


def _draws_in_all(run: StoredRun) -> Any:
    total = run.manifest["progress"].get("draws")
    return run.manifest["origin"].get("collection", {}).get("draws") if total is None else total
