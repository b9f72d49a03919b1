"""Waiting for something to happen, however long it takes on a busy machine."""

import time
from collections.abc import Callable

# Ends a test that hangs. No claim about speed: what is waited for takes seconds.
PATIENCE = 600.0


def wait_until(happened: Callable[[], object], what: str) -> None:
    """Return once `happened()` is true, which is asked every few milliseconds.

    Args:
      happened: Asked again and again; may raise to give up early.
      what: What is waited for, for the message of a test that hangs.

    Example:
      >>> wait_until(lambda: True, "the end")
    """
    last = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < last, f"{what} did not happen within {PATIENCE:.0f} seconds"
        time.sleep(0.005)
