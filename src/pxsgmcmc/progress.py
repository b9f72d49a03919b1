"""What a person sees while something long goes on: a bar on a terminal, plain lines elsewhere.

One protocol for sampling, evaluating and diagnosing: which share is done, and a few words.
"""

import sys
import time
from contextlib import suppress
from typing import Any, Literal, Protocol, TextIO

from pxsgmcmc import notebook
from pxsgmcmc.errors import printable


class Progress(Protocol):
    """Something long, told about as it goes."""

    def tell(self, share: float, text: str, seconds_left: float | None = None) -> None:
        """Show which share is done and what is going on; without `seconds_left` it is guessed."""

    def say(self, sentence: str) -> None:
        """Show a sentence that stays."""

    def close(self) -> None:
        """Show nothing more."""


Show = bool | Literal["plain"]


class Silent:
    """Shows nothing."""

    def tell(self, share: float, text: str, seconds_left: float | None = None) -> None:
        """Nothing."""

    def say(self, sentence: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class _Clock:
    """Guesses the time that is left from the time that has passed."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def left(self, share: float, known: float | None) -> str:
        if share >= 1.0:
            return ""
        if known is None:
            if share <= 0.05:  # before, the start of it all is most of the time
                return ""
            known = (time.monotonic() - self._began) * (1.0 - share) / share
        return f", {clock(known)} left"


class Lines:
    """A line every few seconds, for logs and pipes."""

    def __init__(self, label: str, stream: TextIO | None = None, seconds: float = 10.0):
        self.label, self.seconds = label, seconds
        self._stream = sys.stderr if stream is None else stream
        self._clock, self._last = _Clock(), -seconds

    def tell(self, share: float, text: str, seconds_left: float | None = None) -> None:
        """A line, if it is time for one."""
        now = time.monotonic()
        if share >= 1.0 or now - self._last >= self.seconds:
            self._last = now
            self.say(f"{share:.0%}, {text}{self._clock.left(share, seconds_left)}")

    def say(self, sentence: str) -> None:
        """The sentence, behind the label."""
        with suppress(OSError, ValueError):  # the reader may go away: the work goes on
            print(printable(f"{self.label}: {sentence}", 2000), file=self._stream, flush=True)

    def close(self) -> None:
        """Nothing is open."""


class Bar:
    """A bar that moves, for terminals."""

    def __init__(self, label: str):
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as RichProgress
        from rich.table import Column

        cut_short = Column(ratio=1, no_wrap=True, overflow="ellipsis")  # on a narrow terminal
        self._bar = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=16),
            TaskProgressColumn(),
            TextColumn("{task.fields[text]}", markup=False, table_column=cut_short),
            console=Console(stderr=True),
            expand=True,
            transient=True,
        )
        self._clock = _Clock()
        self._task = self._bar.add_task(printable(label), total=1.0, text="starting")
        self._bar.start()

    def tell(self, share: float, text: str, seconds_left: float | None = None) -> None:
        """Move the bar."""
        with suppress(OSError):  # the terminal may be closed: the work goes on
            words = text + self._clock.left(share, seconds_left)
            self._bar.update(self._task, completed=share, text=printable(words))

    def say(self, sentence: str) -> None:
        """The sentence above the bar."""
        with suppress(OSError):
            self._bar.console.print(printable(sentence, 2000), markup=False, highlight=False)

    def close(self) -> None:
        """Take the bar away."""
        with suppress(OSError):
            self._bar.stop()


class Notebook:
    """One line of a notebook's output that is written anew."""

    def __init__(self, label: str):
        from IPython.display import display  # pyright: ignore[reportMissingImports]

        self.label, self._clock, self._last = label, _Clock(), 0.0
        self._line: Any = display(self._shown(0.0, "starting"), raw=True, display_id=True)

    def tell(self, share: float, text: str, seconds_left: float | None = None) -> None:
        """Write the line anew, a few times a second."""
        now = time.monotonic()
        if share >= 1.0 or now - self._last >= 0.3:
            self._last = now
            words = text + self._clock.left(share, seconds_left)
            self._line.update(self._shown(share, words), raw=True)

    def _shown(self, share: float, text: str) -> dict[str, str]:
        return {
            "text/plain": f"{self.label}: {share:.0%}, {text}",
            "text/html": notebook.bar(self.label, share, text),
        }

    def say(self, sentence: str) -> None:
        """The sentence below."""
        print(sentence)

    def close(self) -> None:
        """Leave the line as it is."""


def progress_for(label: str, show: Show | Progress) -> Progress:
    """What suits where the words go; "plain" asks for lines, a `Progress` is told itself.

    Example:
      >>> progress_for("evaluate", False).tell(0.5, "nothing is shown")
    """
    if not isinstance(show, bool | str):
        return show
    if not show:
        return Silent()
    if show != "plain" and _in_notebook():
        return Notebook(label)
    return Bar(label) if sys.stderr.isatty() and show != "plain" else Lines(label)


def _in_notebook() -> bool:
    """Whether a notebook's kernel runs us, without importing anything it has not."""
    shell = sys.modules.get("ipykernel.zmqshell")
    python = sys.modules.get("IPython")
    return shell is not None and python is not None and python.get_ipython() is not None


def clock(seconds: float) -> str:
    """Seconds as 1:02:03 or 2:03.

    Example:
      >>> clock(3723), clock(59.6)
      ('1:02:03', '1:00')
    """
    if not abs(seconds) < 1e10:  # three centuries, or no number: a speed that no chain has
        return "?"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
