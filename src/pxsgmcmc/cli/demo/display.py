"""What a person sees while the demo runs: a row a run on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from pxsgmcmc.chain.progress import clock

_BELIEF = 60.0  # as much work as it takes for what is seen to outweigh what is usual


class Row(Protocol):
    """A run under way."""

    label: str
    what: str

    def done(self) -> float:
        """Seconds of work that are done of it, as they usually are."""
        ...

    def work(self) -> float:
        """Seconds of work in all."""
        ...


class Display:
    """Rows that move on a terminal; elsewhere a line every few seconds."""

    def __init__(self, rows: Sequence[Row], at_once: int, seconds: float = 5.0):
        self._rows, self._at_once, self._seconds = rows, at_once, seconds
        self._began, self._last = time.monotonic(), float("-inf")
        self._at_first = sum(row.done() for row in rows)
        self._table = _Table(rows) if sys.stderr.isatty() else None

    def say(self, sentence: str) -> None:
        """A sentence, above the rows."""
        with suppress(OSError):  # the reader may go away: the demo goes on
            if self._table is None:
                print(sentence, file=sys.stderr, flush=True)
            else:
                self._table.say(sentence)

    def look(self) -> None:
        """Show how far everything is, if it is time to."""
        now = time.monotonic()
        if self._table is not None:
            with suppress(OSError):
                self._table.show(self._rows, self.pace())
        elif now - self._last >= self._seconds:
            self._last = now
            busy = [row for row in self._rows if row.what not in ("waiting", "done")]
            now_doing = "; ".join(f"{row.label}: {row.what}" for row in busy)
            self.say(f"demo: {self.pace()}" + (f"; {now_doing}" if now_doing else ""))

    def pace(self) -> str:
        """The share that is done, and the time that is left."""
        done, work = (sum(values) for values in zip(*map(_progress, self._rows), strict=True))
        spent, gained = time.monotonic() - self._began, done - self._at_first
        text = f"{done / work:.0%}, {clock(spent)} so far"
        if done < work:
            # What was seen, and `_BELIEF` seconds of work at the usual speed.
            speed = (gained + _BELIEF) / (spent + _BELIEF / self._at_once)
            text += f", about {clock((work - done) / speed)} left"
        return text

    def close(self) -> None:
        """Leave it as it is."""
        with suppress(OSError):
            if self._table is not None:
                self._table.close()


def _progress(row: Row) -> tuple[float, float]:
    return row.done(), row.work()


class _Table:
    """The rows, and one for all of them together."""

    def __init__(self, rows: Sequence[Row]):
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
        self._tasks = [
            self._bars.add_task(label, total=1.0, what="")
            for label in [*(row.label for row in rows), "all"]
        ]
        self._bars.start()

    def show(self, rows: Sequence[Row], pace: str) -> None:
        """Move the bars."""
        shown = [(*_progress(row), row.what) for row in rows]
        done, work = sum(row[0] for row in shown), sum(row[1] for row in shown)
        for task, (d, w, what) in zip(self._tasks, [*shown, (done, work, pace)], strict=True):
            self._bars.update(task, completed=d / w, what=what)

    def say(self, sentence: str) -> None:
        """The sentence above the bars."""
        self._bars.console.print(sentence, markup=False, highlight=False)

    def close(self) -> None:
        """Leave the bars as they are."""
        self._bars.stop()
