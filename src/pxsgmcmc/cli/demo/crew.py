"""Processes that work side by side, a few at a time, and end together.

A worker that dies of a signal is started again, a few times. Each holds the other end of our side
of its standard input, so that it notices when we are gone, even if we were killed.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import IO

from pxsgmcmc.cli.parallel import MOST_DEATHS


class Failed(Exception):
    """A worker failed."""

    def __init__(self, worker: "Worker", code: int, errors: str):
        super().__init__(worker, code, errors)
        self.worker, self.code, self.errors = worker, code, errors


class Worker:
    """One process to be, and what it last said on its standard output.

    Args:
      module: of Python, to run with `arguments`.
      arguments: for it.
      hear: told of each line it prints, in another thread.

    Attributes:
      done: whether it came to its end.
    """

    def __init__(self, module: str, arguments: Sequence[str], hear: Callable[[bytes], None]):
        self._command = [sys.executable, "-m", module, *arguments]
        self._hear, self._deaths = hear, 0
        self.done = False
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None

    def start(self, environment: Mapping[str, str]) -> None:
        """Start it, in a session of its own: Ctrl-C reaches it through us alone."""
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            self._command,
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
        )
        Thread(target=self._listen, args=(self._process.stdout,), daemon=True).start()

    def _listen(self, output: IO[bytes]) -> None:
        with output:
            for line in output:
                self._hear(line)

    def ended(self, environment: Mapping[str, str]) -> bool:
        """Whether it is done; started again if it was killed. Raises `Failed` if it failed."""
        assert self._process is not None and self._errors is not None
        code = self._process.poll()
        if code is None:
            return False
        self._errors.seek(0)
        errors = self._errors.read().decode(errors="replace")
        self._close()
        if code < 0 and self._deaths < MOST_DEATHS:
            self._deaths += 1
            self.start(environment)
            return False
        if code:
            raise Failed(self, code, errors)
        self.done = True
        return True

    def ask_to_stop(self) -> None:
        """Let it save and end."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float) -> None:
        """Until it has ended, or for so many seconds."""
        assert self._process is not None
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, seconds))

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._close()

    def _close(self) -> None:
        for file in (self._process and self._process.stdin, self._errors):
            if file:
                file.close()


def work_off(
    workers: Sequence[Worker], at_once: int, look: Callable[[], None], patience: float = 20.0
) -> int | None:
    """Run all workers to their end, and leave none running, whatever happens.

    Args:
      workers: in the order in which they are to start.
      at_once: how many.
      look: called often.
      patience: seconds for workers to save their work when they are told to stop.

    Returns:
      The number of the signal that stopped it, None if all is done.

    Raises:
      Failed: if a worker did.
    """
    from pxsgmcmc.chain.stop import StopWish

    waiting, running = list(workers), list[Worker]()
    with StopWish() as wish:
        environment = _environment(at_once)
        try:
            while (waiting or running) and wish.signal is None:
                while waiting and len(running) < at_once:
                    running.append(waiting.pop(0))
                    running[-1].start(environment)
                running = [worker for worker in running if not worker.ended(environment)]
                look()
                time.sleep(0.1)
            for worker in running:
                worker.ask_to_stop()
            last = time.monotonic() + patience
            for worker in running:
                worker.wait(last - time.monotonic())
        finally:
            for worker in workers:
                worker.kill()
    return wish.signal if waiting or running else None


def _environment(at_once: int) -> dict[str, str]:
    """Of all workers: one thread each."""
    # On a GPU each would otherwise take most of the memory for itself.
    share_of_memory = {"XLA_PYTHON_CLIENT_MEM_FRACTION": f"{0.9 / at_once:.3f}"}
    threads = dict.fromkeys(("PJRT_NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return share_of_memory | dict(os.environ) | threads
