"""What an engine promises, and how a job may end. Each engine is a file beside this one.

A job ends with the exit code of `pxsgmcmc run`: 0 done, 2 something in the input, 3 diverged, 4 a
damaged run, 5 another process writes there, 128 + n stopped and saved. These are answers, and
nobody starts such a job again. A death by a signal says nothing about the job: it is started again,
a few times, and goes on from what its folder has.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from pxsgmcmc.errors import CorruptRun, Diverged, Locked, UserError
from pxsgmcmc.jobs.job import Job, Stage

MOST_DEATHS = 3  # of one job, before it is given up
_ERRORS = {2: UserError, 3: Diverged, 4: CorruptRun, 5: Locked}


class Ended(NamedTuple):
    """How a job ended.

    Attributes:
      code: exit code of its process; minus the number of the signal that it died of.
      errors: what it wrote to standard error.
      seconds: since it was started, the last time.
    """

    code: int
    errors: str = ""
    seconds: float = 0.0

    @property
    def diverged(self) -> bool:
        """Whether its chain diverged, which is an outcome like others."""
        return _ERRORS.get(self.code) is Diverged

    @property
    def failed(self) -> bool:
        """Whether it ended without an outcome."""
        return self.code != 0 and not self.diverged

    @property
    def sentence(self) -> str:
        """What the job said for people when it failed; empty if it said nothing."""
        sentences = [line for line in self.errors.splitlines() if line.startswith("pxsgmcmc: ")]
        return sentences[-1].removeprefix("pxsgmcmc: ") if sentences else ""

    @property
    def how(self) -> str:
        """The end in a few words."""
        return f"died of signal {-self.code}" if self.code < 0 else f"ended with code {self.code}"


class JobFailed(Exception):
    """A job that others depend on failed.

    Attributes:
      job: which.
      ended: how.
    """

    def __init__(self, job: Job, ended: Ended):
        super().__init__(f"{job.label} {ended.how}: {ended.sentence or ended.errors}")
        self.job, self.ended = job, ended

    def as_error(self, advice: str = "") -> Exception:
        """The error that the job's own command would have ended with; itself if that is our bug."""
        kind = _ERRORS.get(self.ended.code)
        if kind is None or not self.ended.sentence:
            return self
        return kind(f"{self.job.label}: {self.ended.sentence} {advice}".rstrip())


class Watch(Protocol):
    """Who is told how jobs go; always from one thread."""

    def tell(self, job: Job, stage: Stage, share: float, text: str) -> None:
        """Which share of a stage is done, and what is going on."""

    def say(self, job: Job, sentence: str) -> None:
        """Something that a person should know of a job."""

    def ended(self, job: Job, ended: Ended) -> None:
        """A job has come to its end; an exception raised here stops all the others."""

    def look(self) -> None:
        """Called a few times a second."""


class Engine(Protocol):
    """Runs jobs: processes on this machine, or on others that see the same folders."""

    def run(self, jobs: Sequence[Job], watch: Watch) -> int | None:
        """Run all jobs to their end and leave none running, whatever happens.

        Args:
          jobs: in the order in which they are to start.
          watch: told of everything.

        Returns:
          The number of the signal that stopped it before the end, None otherwise.
        """
        ...
