"""Jobs one after the other in this process, for problems that only this process knows."""

import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass

from pxsgmcmc.errors import CorruptRun, Diverged, Locked, UserError
from pxsgmcmc.jobs.engine import Ended, Watch
from pxsgmcmc.jobs.job import Job, Stage
from pxsgmcmc.jobs.work import work
from pxsgmcmc.problem import Problem

_CODES = {Locked: 5, UserError: 2, Diverged: 3, CorruptRun: 4}  # the first that fits


@dataclass(frozen=True)
class InProcess:
    """The engine of a problem that has no configuration to be made from elsewhere.

    Attributes:
      problem: of all jobs.
      at_once: how many run at the same time: one.
    """

    problem: Problem
    at_once: int = 1

    def run(self, jobs: Sequence[Job], watch: Watch) -> int | None:
        """Run all jobs to their end; see `Engine`."""
        for job in jobs:
            began = time.monotonic()
            code, errors = self._code(job, watch)
            watch.ended(job, Ended(code, errors, time.monotonic() - began))
            watch.look()
            if code >= 128:
                return code - 128
        return None

    def _code(self, job: Job, watch: Watch) -> tuple[int, str]:
        """The exit code that a process would have had, and its last words."""
        try:
            return work(job, lambda stage: _StageProgress(job, stage, watch), self.problem), ""
        except KeyboardInterrupt:  # while nothing listened: the store is made to be left
            return 128 + signal.SIGINT, ""
        except tuple(_CODES) as error:
            code = next(code for kind, code in _CODES.items() if isinstance(error, kind))
            return code, f"pxsgmcmc: {error}"


@dataclass(frozen=True)
class _StageProgress:
    """Passes on how far a stage is."""

    job: Job
    stage: Stage
    watch: Watch

    def tell(self, share: float, text: str, seconds_left: float | None = None) -> None:
        self.watch.tell(self.job, self.stage, share, text)
        self.watch.look()

    def say(self, sentence: str) -> None:
        self.watch.say(self.job, sentence)

    def close(self) -> None:
        pass
