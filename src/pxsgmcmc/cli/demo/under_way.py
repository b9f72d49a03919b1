"""One run of the demo, as whoever started it sees it."""

import time
from pathlib import Path

import msgspec

from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.cli.demo.crew import Worker
from pxsgmcmc.cli.demo.process import DIAGNOSE, EVALUATE, SAMPLE, Said, missing
from pxsgmcmc.config import write_config
from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.store import open_run
from pxsgmcmc.store.layout import MANIFEST

# What each part takes on one core, about: the processor time of a whole demo, shared out as the
# files of its runs were spaced in time.
SECONDS = {SAMPLE: 55.0, EVALUATE: 22.0, DIAGNOSE: 28.0}
_DOING = {SAMPLE: "sampling", EVALUATE: "evaluating", DIAGNOSE: "diagnosing"}


class DemoRun:
    """A run that is waiting, under way or done.

    Args:
      name: of its configuration.
      method: as a reader calls it.
      seed: of the run.
      folder: of the demo.
      settings: flags over the configuration.
    """

    def __init__(self, name: str, method: str, seed: int, folder: Path, settings: list[str]):
        # One thread a chain, since several chains share the machine. Draws depend on that.
        flags = [*settings, "--seed", str(seed), "--threads", "1"]
        self.config = load_config(name, flags)
        self.label = f"{method}, seed {seed}"
        self.folder = folder / f"{Path(name).name}-{seed}"
        self.parts = [SAMPLE, EVALUATE, DIAGNOSE] if seed == 0 else [SAMPLE, EVALUATE]
        self._check_same()
        self.todo = missing(self.folder, self.parts)
        self.what = "waiting" if self.todo else "done"
        self.part, self._share, self._looked = "", 0.0, 0.0
        self.worker = Worker(
            "pxsgmcmc.cli.demo.process",
            [name, str(self.folder), ",".join(self.parts), *flags],
            self._hear,
        )

    def _check_same(self) -> None:
        if (self.folder / MANIFEST).exists():
            if open_run(self.folder).config != write_config(self.config):
                raise UserError(
                    f"`{self.folder}` holds a run with other settings: remove it, or give another "
                    "folder with --out."
                )

    def _hear(self, line: bytes) -> None:
        try:
            said = msgspec.json.decode(line, type=Said)
        except msgspec.MsgspecError:  # a sentence for people who look at one run alone
            return
        self.part, self._share = said.part, said.share
        self.what = f"{_DOING[said.part]}, {said.what}"

    def look(self) -> None:
        """See whether it is done, and about once a second how far the chain is."""
        if self.worker.done:
            self.todo, self.what = [], "done"
            return
        if self.part != SAMPLE or time.monotonic() - self._looked < 1.0:
            return
        self._looked = time.monotonic()
        try:
            *_, last = open_run(self.folder).read_log()
        except (UserError, CorruptRun, ValueError):  # not begun, or written to just now
            return
        share, what = last["step"] / last["steps"], f"draw {last['draws']}/{last['all_draws']}"
        if self.part == SAMPLE:  # the worker may have gone on meanwhile
            self._share, self.what = share, f"{_DOING[SAMPLE]}, {what}"

    def work(self) -> float:
        """Seconds of work in all, as it usually is."""
        return sum(SECONDS[part] for part in self.parts)

    def done(self) -> float:
        """Seconds of it that are done."""
        left = [SECONDS[part] for part in self.todo[self._place() :]]
        return self.work() - sum(left) + (self._share * left[0] if left and self.part else 0.0)

    def _place(self) -> int:
        return self.todo.index(self.part) if self.part in self.todo else 0
