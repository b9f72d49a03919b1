"""Ctrl-C, SIGTERM and SIGHUP as a wish to stop soon, not as an accident."""

import signal
import threading
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
