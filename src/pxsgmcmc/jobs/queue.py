"""What is asked of a queue that somebody else looks after, such as that of a Slurm cluster."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from pxsgmcmc.jobs.sheet import Sheet

BLOCK = 1000  # jobs that are handed in at the same time: Slurm's MaxArraySize is 1001 unless told


class Seen(NamedTuple):
    """What a queue says of a job that it has.

    Attributes:
      running: whether it was started.
      where: on which hosts, if that is known.
      why: it waits, in the queue's words.
    """

    running: bool
    where: str = ""
    why: str = ""


class Queue(Protocol):
    """Starts jobs of a sheet somewhere: `COMMAND SHEET NUMBER` for each."""

    @property
    def engine(self) -> str:
        """Its name, as `--engine` has it."""
        ...

    def submit(self, sheet: Sheet, numbers: Sequence[int]) -> dict[int, str]:
        """Hand jobs in, all of one `BLOCK`; returns the name that each has in the queue."""
        ...

    def look(self) -> dict[str, Seen] | None:
        """All jobs that wait or run, by name, and perhaps others; None if it did not answer."""
        ...

    def stop(self, names: Sequence[str]) -> None:
        """Take those that wait out of the queue, and let those that run save and end."""
        ...

    def kill(self, names: Sequence[str]) -> None:
        """End what is left of them at once."""
        ...

    def last_words(self, name: str) -> str:
        """What it knows of the end of a job that it no longer has; empty if nothing."""
        ...


class QueuePace(NamedTuple):
    """How often to look, in seconds, and how many jobs to hand in.

    Attributes:
      queue: between two questions to the queue.
      settle: to wait for an exit code when the queue has let go of a job, since a file that was
        written on one host may show on others later.
      locked: to wait before a job is started again where another process writes.
      refused: to wait when the queue takes no more jobs.
      patience: for jobs to save their work when they are told to stop.
      most: jobs that are in the queue at the same time; None for all.
    """

    queue: float
    settle: float
    locked: float = 30.0
    refused: float = 60.0
    patience: float = 300.0
    most: int | None = None
