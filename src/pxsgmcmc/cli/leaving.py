"""What a signal does to a command while nothing in it listens for one."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

BEFORE = "Interrupted before the run began\n"


@contextmanager
def ended_by_signals(message: Callable[[], str]) -> Iterator[None]:
    """Let signals end the process at once while the chain does not listen itself.

    An exception raised by a handler can be lost: a library that is being imported, or code called
    from C, may swallow it, and the run would go on. Nothing is lost by leaving on the spot: the
    store is made for it, and takes over the lock of a process that is gone.
    """

    def leave(number: int, frame: object) -> None:
        os.write(1, message().encode())  # `print` may be what was interrupted
        os._exit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # The names in `chain.graceful_stop`, which cannot be imported yet: JAX would come with it.
    numbers = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")]
    before = {
        number: signal.signal(number, leave)
        for number in numbers
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN  # as under nohup
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
