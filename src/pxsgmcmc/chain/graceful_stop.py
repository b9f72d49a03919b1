"""Ctrl-C, SIGTERM and SIGHUP as a wish to stop soon, not as an accident."""

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import jax

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
        if _in_main_thread():
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


def find_devices() -> None:
    """Let JAX look for its devices; a signal that comes in between waits until it has.

    JAX starts a timer of a minute while it looks. A Ctrl-C at the moment at which it would take the
    timer back leaves it running, and the process, interrupted, would not end before the timer.
    """
    with GracefulStop() as stop:
        jax.devices()
    if stop.signal is not None:
        os.kill(os.getpid(), stop.signal)


@contextmanager
def kept_ctrl_c() -> Iterator[None]:
    """A context in which JAX has its devices, and a Ctrl-C at a bad moment comes again in a better.

    JAX frees memory in a callback of Python's garbage collector. What is raised there is shown and
    dropped, and while programs are traced and compiled many a signal arrives there. What is raised
    where a compiled program is handed to Python (JAX 0.10.2) leaves something behind that ends the
    process by a segmentation fault when it leaves.
    """
    find_devices()
    dropped_before, pressed_before = sys.unraisablehook, signal.getsignal(signal.SIGINT)

    def dropped(what: Any) -> None:
        if what.exc_type is KeyboardInterrupt:
            _press_again()
        else:
            dropped_before(what)

    def pressed(number: int, frame: FrameType | None) -> None:
        if frame is not None and frame.f_code.co_name == _HANDS_OVER:
            _press_again()
        else:
            signal.default_int_handler(number, frame)

    usual = pressed_before is signal.default_int_handler and _in_main_thread()
    sys.unraisablehook = dropped
    if usual:
        signal.signal(signal.SIGINT, pressed)
    try:
        yield
    finally:
        sys.unraisablehook = dropped_before
        if usual:
            signal.signal(signal.SIGINT, pressed_before)


_HANDS_OVER = "backend_compile_and_load"  # the function of JAX whose result must not be lost


def _press_again() -> None:
    """In a moment; nothing is waited for, as a thread of `threading` would be."""

    def press() -> None:
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    _thread.start_new_thread(press, ())


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
