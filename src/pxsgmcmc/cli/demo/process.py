"""One run of the demo as a process: `python -m pxsgmcmc.cli.demo.process CONFIG DIR PARTS FLAGS`.

It samples, evaluates and diagnoses, leaving out what is there already; how far evaluation and
diagnosis are, it says on standard output in lines of JSON. It ends when its standard input does:
that is when whoever started it is gone, however that happened.
"""

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec

from pxsgmcmc import cli
from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.errors import UserError
from pxsgmcmc.results import Diagnostics, Results
from pxsgmcmc.store import Run, open_run
from pxsgmcmc.store.layout import MANIFEST

SAMPLE, EVALUATE, DIAGNOSE = "sample", "evaluate", "diagnose"
_KEPT: dict[str, tuple[str, Any]] = {
    EVALUATE: ("results.json", Results),
    DIAGNOSE: ("eval/diagnostics.json", Diagnostics),
}


class Said(msgspec.Struct, frozen=True):
    """How far a part is."""

    part: str
    share: float
    what: str


class _Teller:
    """Says how far a part is, a few times a second."""

    def __init__(self, part: str):
        self._part, self._next = part, 0.0
        self.tell(0.0, "compiling" if part == SAMPLE else "starting")

    def tell(self, share: float, what: str) -> None:
        """Say it, if it is time to."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.3
            line = msgspec.json.encode(Said(self._part, share, what)).decode()
            print(line, flush=True)

    def close(self) -> None:
        """Nothing is open."""


def missing(folder: Path, parts: list[str]) -> list[str]:
    """Which parts of a run are still to be done, after tidying up behind a writer that was killed.

    A result is kept if it is about all the draws there are.
    """
    if not (folder / MANIFEST).exists():
        return parts
    with open_run(folder, writable=True) as run:
        if run.status != "done":
            return parts
        return [part for part in parts if part in _KEPT and not _is_kept(run, *_KEPT[part])]


def _is_kept(run: Run, name: str, kind: Any) -> bool:
    try:
        found = msgspec.json.decode(run.read_artifact(name), type=kind)
    except (UserError, msgspec.MsgspecError):  # not there, or written by another version
        return False
    return found.subject.draws == len(run.draws)


def main(name: str, folder: str, parts: str, *settings: str) -> int:
    """Do what is missing; the exit code is that of the first part that fails."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    config, place = load_config(name, list(settings)), Path(folder)
    for part in missing(place, parts.split(",")):
        told = _Teller(part)
        if part == SAMPLE:
            from pxsgmcmc.cli.run import run_one

            code = run_one(config, place, resume=True, progress=False)
            if code:
                return code
        elif part == EVALUATE:
            from pxsgmcmc.evaluation.evaluate import evaluate

            evaluate(place, progress=told)
        else:
            _diagnose(place, told)
    return 0


def _diagnose(place: Path, told: _Teller) -> None:
    from pxsgmcmc.cli.diagnose import share_of_all
    from pxsgmcmc.evaluation.diagnose import diagnose

    diagnose(place, report=lambda what, done, of: told.tell(share_of_all(what, done / of), what))


def _end_with_parent() -> None:
    """Wait for the end of standard input, then leave: a store is made to be left at any time."""
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(cli.guarded(lambda: main(*sys.argv[1:])))
