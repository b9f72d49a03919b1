"""What a person sees while jobs run: a row a job on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from pxsgmcmc.errors import printable, printable_lines
from pxsgmcmc.jobs.engine import Ended
from pxsgmcmc.jobs.job import DIAGNOSE, EVALUATE, SAMPLE, VALIDATE, Job, Stage, missing_stages
from pxsgmcmc.progress import clock

# How much of a job each stage usually is: processor seconds of the demo, which has them all.
WORK: dict[Stage, float] = {SAMPLE: 55.0, EVALUATE: 22.0, DIAGNOSE: 28.0, VALIDATE: 5.0}
MOST_ROWS = 12  # jobs that a terminal shows all at once
_DOING: dict[Stage, str] = {
    SAMPLE: "sampling",
    EVALUATE: "evaluating",
    DIAGNOSE: "diagnosing",
    VALIDATE: "validating",
}
OnEnd = Callable[[Job, Ended], str | None]


class JobRow:
    """One job as it is shown.

    Attributes:
      job: which.
      todo: the stages that were missing when it began.
      stage: the one it is in, None before the first.
      text: what is going on.
      busy: whether it runs.

    `look_only` is as in `missing_stages`.
    """

    def __init__(self, job: Job, *, look_only: bool = False):
        self.job, self.todo = job, missing_stages(job, look_only=look_only)
        self.stage: Stage | None = None
        self.share, self.busy = 0.0, False
        self.text = "waiting" if self.todo else "done"

    def tell(self, stage: Stage, share: float, text: str) -> None:
        """It is so far."""
        self.stage, self.share, self.busy = stage, share, True
        self.text = f"{_DOING[stage]}, {text}"

    def end(self, ended: Ended) -> None:
        """It runs no more."""
        self.busy = False
        self.text = "stopped" if ended.code >= 128 else ended.how
        if ended.code == 0:
            self.todo, self.text = (), "done"

    @property
    def work(self) -> float:
        """All of it, in the units of `WORK`."""
        return sum(WORK[stage] for stage in self.job.stages)

    @property
    def done(self) -> float:
        """What is done of it."""
        place = self.todo.index(self.stage) if self.stage in self.todo else 0
        left = [WORK[stage] for stage in self.todo[place:]]
        return self.work - sum(left) + (self.share * left[0] if left else 0.0)

    @property
    def brief(self) -> str:
        """What it is doing, for a line that others share."""
        return f"{self.job.label}: {', '.join(self.text.split(', ')[:3])}"


class Display:
    """Rows that move on a terminal; elsewhere a line every few seconds. A `Watch` of engines.

    Args:
      title: what all the jobs are.
      jobs: all of them, also those that are done.
      on_end: told of each end; what it returns is shown, what it raises stops the others.
      seconds: between lines.
      elsewhere: whether jobs may run on other machines already, handed in by an earlier call.
    """

    def __init__(
        self,
        title: str,
        jobs: Sequence[Job],
        on_end: OnEnd,
        seconds: float = 10.0,
        *,
        elsewhere: bool = False,
    ):
        self.rows = {job: JobRow(job, look_only=elsewhere) for job in jobs}
        self._on_end, self._began, self._at_first = on_end, time.monotonic(), self.share
        self._shown: _Shown = (
            _Table(title, list(self.rows.values()))
            if sys.stderr.isatty()
            else _Lines(title, seconds)
        )

    @property
    def todo(self) -> list[Job]:
        """The jobs that have something to do."""
        return [job for job, row in self.rows.items() if row.todo]

    @property
    def share(self) -> float:
        """What is done of all, from 0 to 1."""
        rows = self.rows.values()
        return sum(row.done for row in rows) / sum(row.work for row in rows)

    def tell(self, job: Job, stage: Stage, share: float, text: str) -> None:
        """A job is so far."""
        self.rows[job].tell(stage, share, text)

    def say(self, job: Job, sentence: str) -> None:
        """A sentence on a job, which stays."""
        self.announce(f"{job.label}{' ' if sentence[:1].islower() else ': '}{sentence}")

    def announce(self, sentence: str) -> None:
        """A sentence on all of them, which stays."""
        with suppress(OSError):  # the reader may go away: the jobs go on
            self._shown.say(sentence)

    def ended(self, job: Job, ended: Ended) -> None:
        """A job has ended."""
        self.rows[job].end(ended)
        if sentence := self._on_end(job, ended):
            self.announce(sentence)

    def look(self) -> None:
        """Show how far everything is."""
        share, spent = self.share, time.monotonic() - self._began
        gained, left = share - self._at_first, None
        if gained > 0.05 and share < 1.0:  # before, the start of it all is most of the time
            left = spent * (1.0 - share) / gained
        with suppress(OSError):
            self._shown.show(list(self.rows.values()), share, left)

    def close(self) -> None:
        """Leave it as it is."""
        with suppress(OSError):
            self._shown.close()


class _Shown(Protocol):
    def show(self, rows: list[JobRow], share: float, left: float | None) -> None: ...
    def say(self, sentence: str) -> None: ...
    def close(self) -> None: ...


class _Lines:
    """One line for all jobs that run, if it is time for one or all are done."""

    def __init__(self, title: str, seconds: float):
        self._title, self._seconds, self._last, self._over = title, seconds, float("-inf"), False

    def show(self, rows: list[JobRow], share: float, left: float | None) -> None:
        now, over = time.monotonic(), share >= 1.0
        if not self._over and (over or now - self._last >= self._seconds):
            self._last, self._over = now, over
            busy = [row.brief for row in rows if row.busy]
            self.say("; ".join([f"{self._title}: {_pace(share, left)}", *busy]))

    def say(self, sentence: str) -> None:
        print(printable_lines(sentence), file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


def _pace(share: float, left: float | None) -> str:
    return f"{share:.0%}" + (f", about {clock(left)} left" if left is not None else "")


class _Table:
    """The rows, and one for all of them together."""

    def __init__(self, title: str, rows: Sequence[JobRow]):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
        from rich.table import Column

        cut_short = Column(ratio=1, no_wrap=True, overflow="ellipsis")  # on a narrow terminal
        self._bars = Progress(
            SpinnerColumn(finished_text=" "),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=16),
            TextColumn("{task.fields[what]}", markup=False, table_column=cut_short),
            console=Console(stderr=True),
            expand=True,
        )
        labels = [*(row.job.label for row in rows), title]
        self._tasks = [
            self._bars.add_task(printable(label), total=1.0, what="") for label in labels
        ]
        self._bars.start()

    def show(self, rows: list[JobRow], share: float, left: float | None) -> None:
        shown = [(row.done / row.work, row.text) for row in rows]
        few = len(rows) <= MOST_ROWS  # of more, those that run, and all of them together
        seen = [*(few or row.busy for row in rows), True]
        for task, (done, what), visible in zip(
            self._tasks, [*shown, (share, _pace(share, left))], seen, strict=True
        ):
            self._bars.update(task, completed=done, what=printable(what), visible=visible)

    def say(self, sentence: str) -> None:
        self._bars.console.print(printable_lines(sentence), markup=False, highlight=False)

    def close(self) -> None:
        self._bars.stop()
