"""What a person sees while a chain runs: a live bar on a terminal, plain lines elsewhere."""

import sys
import time
from contextlib import suppress
from typing import Any, Literal, NamedTuple, Protocol, TextIO


class Report(NamedTuple):
    """How a chain stands, after a chunk."""

    step: int
    steps: int  # in all
    draws: int
    all_draws: int
    steps_per_second: float
    energy: float
    step_size: float
    temperature: dict[str, float]  # kinetic, by group; empty without momentum
    acceptance: float | None

    @property
    def seconds_left(self) -> float:
        """At the present speed."""
        return (self.steps - self.step) / max(self.steps_per_second, 1e-9)

    def text(self) -> str:
        """The numbers on one line."""
        parts = [
            f"{_spell(self.steps_per_second)} steps/s",
            f"energy {self.energy:.4g}",
            f"step size {self.step_size:.2g}",
        ]
        parts += [f"T[{group}] {value:.3g}" for group, value in self.temperature.items()]
        if self.acceptance is not None:
            parts.append(f"acceptance {self.acceptance:.2f}")
        return ", ".join(parts)

    def facts(self) -> dict[str, Any]:
        """As a line of the log."""
        return {**self._asdict(), "time": time.time()}


class Reporter(Protocol):
    """Shows reports and sentences."""

    def report(self, report: Report) -> None:
        """Show how the chain stands."""

    def say(self, sentence: str) -> None:
        """Show a sentence."""

    def close(self) -> None:
        """Show nothing more."""


class Silent:
    """Shows nothing."""

    def report(self, report: Report) -> None:
        """Nothing."""

    def say(self, sentence: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class PlainLines:
    """A line every few seconds, for logs and pipes."""

    def __init__(self, label: str, stream: TextIO, seconds: float = 10.0):
        self.label, self.stream, self.seconds = label, stream, seconds
        self._last, self._draws = 0.0, -1

    def report(self, report: Report) -> None:
        """A line, if it is time for one."""
        now, done = time.monotonic(), report.step == report.steps
        if done or now - self._last >= self.seconds:
            self._last = now
            left = "" if done else f", {clock(report.seconds_left)} left"
            draws = f"draw {report.draws}/{report.all_draws}"
            self.say(f"{draws}, step {report.step}/{report.steps}, {report.text()}{left}")

    def say(self, sentence: str) -> None:
        """The sentence, behind the label."""
        with suppress(OSError):  # the reader may go away, as `head` does: the chain goes on
            print(f"{self.label}: {sentence}", file=self.stream, flush=True)

    def close(self) -> None:
        """Nothing is open."""


class LiveBar:
    """A bar that moves, for terminals."""

    def __init__(self, label: str):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.table import Column

        cut_short = Column(ratio=1, no_wrap=True, overflow="ellipsis")  # on a narrow terminal
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TextColumn("{task.fields[text]}", markup=False, table_column=cut_short),
            console=Console(stderr=True),
            expand=True,
        )
        self._task = self._bar.add_task(label, total=None, text="compiling")
        self._bar.start()

    def report(self, report: Report) -> None:
        """Move the bar."""
        with suppress(OSError):  # the terminal may be closed: the chain goes on
            self._bar.update(
                self._task,
                completed=report.draws,
                total=report.all_draws,
                text=f"{clock(report.seconds_left)} left, {report.text()}",
            )

    def say(self, sentence: str) -> None:
        """The sentence above the bar."""
        with suppress(OSError):
            self._bar.console.print(sentence, markup=False, highlight=False)

    def close(self) -> None:
        """Leave the bar as it is."""
        with suppress(OSError):
            self._bar.stop()


def reporter_for(label: str, progress: bool | Literal["plain"]) -> Reporter:
    """The reporter that suits where standard error goes; "plain" asks for lines."""
    if not progress:
        return Silent()
    live = sys.stderr.isatty() and progress != "plain"
    return LiveBar(label) if live else PlainLines(label, sys.stderr)


def clock(seconds: float) -> str:
    """Seconds as 1:02:03 or 2:03.

    Example:
      >>> clock(3723), clock(59.6)
      ('1:02:03', '1:00')
    """
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def _spell(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
