"""Ctrl-C, SIGTERM and SIGHUP as a wish to stop soon, not as an accident."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = [signal.SIGINT, signal.SIGTERM]
if hasattr(signal, "SIGHUP"):  # a closed terminal, or a lost connection
    SIGNALS.append(signal.SIGHUP)


class GracefulStop:
    """A context in which the first signal is noted and a second Ctrl-C interrupts.

    Attributes:
      signal: the number of the signal that came, None before it.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "GracefulStop":
        """Listen."""
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave things as they were."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = number


@contextmanager
def kept_ctrl_c() -> Iterator[None]:
    """A context in which a Ctrl-C that Python drops comes again.

    JAX frees memory in a callback of Python's garbage collector. What is raised there is shown and
    dropped, and while programs are traced and compiled many a signal arrives there.
    """
    before = sys.unraisablehook

    def again(dropped: Any) -> None:
        if dropped.exc_type is not KeyboardInterrupt:
            before(dropped)
            return
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = before
