"""A job in a queue of others, and what is known of it."""

import time
from dataclasses import dataclass, field

import msgspec

from pxsgmcmc.jobs.engine import Watch
from pxsgmcmc.jobs.job import Job
from pxsgmcmc.jobs.local import JobMessage
from pxsgmcmc.jobs.sheet import Sheet


@dataclass
class QueuedJob:
    """One job and what is known of it."""

    job: Job
    sheet: Sheet
    number: int
    name: str = ""  # in the queue; empty while it is not there
    not_before: float = 0.0
    began: float = field(default_factory=time.monotonic)
    gone: float | None = None  # when the queue had it no more
    running: bool = False
    read: int = 0  # bytes of its output that were passed on
    errors_from: int = 0
    held_because: str = ""
    deaths: int = 0
    mark: tuple[int, ...] = ()

    def pass_on(self, watch: Watch) -> None:
        """Tell what the job has told since."""
        try:
            with self.sheet.path(self.number, "out").open("rb") as file:
                file.seek(self.read)
                lines = file.read()
        except OSError:
            return
        whole = lines[: lines.rfind(b"\n") + 1]
        if whole and not self.running:
            self.began, self.running = time.monotonic(), True
        self.read += len(whole)
        for line in whole.splitlines():
            try:
                message = msgspec.json.decode(line, type=JobMessage)
            except msgspec.MsgspecError:  # a library's own words
                continue
            if message.sentence:
                watch.say(self.job, message.text)
            else:
                watch.tell(self.job, message.stage, message.share, message.text)
