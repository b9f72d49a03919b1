"""What a person sees while a run is looked into: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from contextlib import suppress
from typing import Literal, Protocol

from pxsgmcmc.chain.progress import clock


class Work(Protocol):
    """Something long, told about as it goes."""

    def tell(self, share: float, what: str) -> None:
        """Show which share of it is done, and what is done now."""

    def close(self) -> None:
        """Show nothing more."""


class Silent:
    """Shows nothing."""

    def tell(self, share: float, what: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Lines:
    """A line every few seconds, for logs and pipes."""

    def __init__(self, label: str, seconds: float = 5.0):
        self.label, self.seconds = label, seconds
        self._began = self._last = time.monotonic()

    def tell(self, share: float, what: str) -> None:
        """A line, if it is time for one."""
        now = time.monotonic()
        if now - self._last >= self.seconds:
            self._last = now
            text = f"{self.label}: {share:.0%}, {what}"
            if share > 0.05:  # before, the start of it all is most of the time
                text += f", {clock((now - self._began) * (1.0 - share) / share)} left"
            with suppress(OSError):  # the reader may go away: the work goes on
                print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing is open."""


class Bar:
    """A bar that moves, for terminals."""

    def __init__(self, label: str):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TimeRemainingColumn(),
            TextColumn("{task.fields[what]}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(label, total=1.0, what="")
        self._bar.start()

    def tell(self, share: float, what: str) -> None:
        """Move the bar."""
        with suppress(OSError):
            self._bar.update(self._task, completed=share, what=what)

    def close(self) -> None:
        """Take the bar away."""
        with suppress(OSError):
            self._bar.stop()


def work_for(label: str, progress: bool | Literal["plain"] | Work) -> Work:
    """What suits where standard error goes; "plain" asks for lines, a `Work` is told itself.

    Example:
      >>> work_for("evaluate", False).tell(0.5, "nothing is shown")
    """
    if not isinstance(progress, bool | str):
        return progress
    if not progress:
        return Silent()
    return Bar(label) if sys.stderr.isatty() and progress != "plain" else Lines(label)
