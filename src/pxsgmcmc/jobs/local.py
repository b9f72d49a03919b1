"""Jobs as processes on this machine, a few at a time.

Each process gets its job as the first line of its standard input and holds on to the other end of
that pipe: when we are gone, even killed, it notices and ends. It is in a process group of its own,
so that Ctrl-C reaches it through us alone, but in our session: Linux shares the processors among
sessions first, so `nice` would mean little in another. It imports nothing from the current folder.
The cores are dealt out, since two processes that fight for the same ones are slower than two that
do not.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

import msgspec

from pxsgmcmc.errors import check_count
from pxsgmcmc.jobs.engine import MOST_DEATHS, Ended, Watch
from pxsgmcmc.jobs.job import Job, Stage

# -P: the current folder is not a place to import from. The warning is about a program that another
# process is just writing to the cache; whoever reads it too early compiles it itself.
COMMAND = (
    *(sys.executable, "-P", "-W", "ignore:Error reading persistent compilation cache entry"),
    *("-m", "pxsgmcmc.cli.job"),
)


class JobMessage(msgspec.Struct, frozen=True):
    """A line of a job's standard output: how far a stage is, or a sentence."""

    stage: Stage
    share: float
    text: str
    sentence: bool = False


def cores() -> list[int]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


@dataclass(frozen=True)
class Local:
    """The engine of this machine.

    Attributes:
      at_once: how many jobs run at the same time.
      patience: seconds that jobs have to save their work when they are told to stop; a second
        Ctrl-C ends them at once.
      command: what to start for each job.
    """

    at_once: int = field(default_factory=lambda: len(cores()))
    patience: float = 300.0
    command: tuple[str, ...] = COMMAND

    def __post_init__(self) -> None:
        """Check the number."""
        check_count("at_once", self.at_once, at_least=1)

    def run(self, jobs: Sequence[Job], watch: Watch) -> int | None:
        """Run all jobs to their end; see `Engine`."""
        from pxsgmcmc.chain.graceful_stop import GracefulStop

        slots = list(range(min(self.at_once, len(jobs))))
        variables = environment(len(slots))
        waiting = [_Process(job, self.command, variables, len(slots)) for job in jobs]
        running: list[_Process] = []
        with GracefulStop() as stop:
            try:
                while (waiting or running) and stop.signal is None:
                    while waiting and slots:
                        running.append(waiting.pop(0))
                        running[-1].start(slots.pop(0))
                    for process in list(running):
                        if process.has_ended(watch):
                            running.remove(process)
                            slots.append(process.slot)
                            watch.ended(process.job, process.ended)
                    watch.look()
                    time.sleep(0.05)
                self._stop(running, watch)
            finally:
                for process in running:
                    process.kill()
        return stop.signal if waiting or running else None

    def _stop(self, running: Sequence["_Process"], watch: Watch) -> None:
        for process in running:
            process.ask_to_stop()
        last = time.monotonic() + self.patience
        while time.monotonic() < last and any(process.is_alive() for process in running):
            watch.look()
            time.sleep(0.02)
        for process in running:
            if not process.is_alive():
                ended = process.collect(watch)
                if ended.code == -signal.SIGTERM:  # before it listened: nothing was under way
                    ended = ended._replace(code=128 + signal.SIGTERM)
                watch.ended(process.job, ended)


class _Process:
    """The process of one job, started again if it is killed."""

    def __init__(
        self, job: Job, command: Sequence[str], environment: dict[str, str], shares: int
    ) -> None:
        self.job, self.slot, self.ended = job, 0, Ended(0)
        self._command, self._environment, self._shares = command, environment, shares
        self._deaths = 0
        self._heard: SimpleQueue[bytes] = SimpleQueue()

    def start(self, slot: int) -> None:
        """Start it on its share of the cores."""
        self.slot, self._began = slot, time.monotonic()
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            self._command,
            process_group=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=self._environment,
        )
        self._listener = Thread(target=self._listen, daemon=True)
        self._listener.start()
        if hasattr(os, "sched_setaffinity") and self._shares > 1:
            mine = cores()
            share = mine[slot % len(mine) :: min(self._shares, len(mine))]
            with suppress(OSError):  # it ended already, or the machine does not allow it
                os.sched_setaffinity(self._process.pid, share)
        assert self._process.stdin is not None
        with suppress(OSError):  # it ended already: its exit code says why
            self._process.stdin.write(msgspec.json.encode(self.job) + b"\n")
            self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._heard.put(line)

    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def has_ended(self, watch: Watch) -> bool:
        """Whether it has come to its end; started again if it was killed."""
        self._pass_on(watch)
        if self.is_alive():
            return False
        self.ended = self.collect(watch)
        if self.ended.code < 0 and self._deaths < MOST_DEATHS:
            self._deaths += 1
            watch.say(self.job, f"{self.ended.how}; resuming it")
            self.start(self.slot)
            return False
        return True

    def collect(self, watch: Watch) -> Ended:
        """How it ended, after its last words."""
        self._listener.join(timeout=5.0)  # longer only if it left a child with its output
        self._pass_on(watch)
        self._errors.seek(0)
        errors = self._errors.read().decode(errors="replace")
        self._close()
        return Ended(self._process.returncode, errors, time.monotonic() - self._began)

    def _pass_on(self, watch: Watch) -> None:
        while not self._heard.empty():
            try:
                message = msgspec.json.decode(self._heard.get(), type=JobMessage)
            except msgspec.MsgspecError:  # a library's own words
                continue
            if message.sentence:
                watch.say(self.job, message.text)
            else:
                watch.tell(self.job, message.stage, message.share, message.text)

    def ask_to_stop(self) -> None:
        """Let it save and end."""
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        self._process.kill()
        self._process.wait()
        self._close()

    def _close(self) -> None:
        with suppress(OSError):  # what was not written has no reader
            if self._process.stdin is not None:
                self._process.stdin.close()
        self._errors.close()


def environment(shares: int) -> dict[str, str]:
    """Of all jobs: ours, without a way to the current folder, and with its share of the machine."""
    variables = dict(os.environ)
    root = Path(__file__).resolve().parents[2]  # where this package was found, wherever that is
    paths = [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    paths += [str(root)] * (root.name not in ("site-packages", "dist-packages"))
    variables["PYTHONPATH"] = os.pathsep.join(p for p in paths if p != os.getcwd())
    if shares > 1:
        variables |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        # On a GPU each would otherwise take most of the memory for itself.
        variables.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", f"{0.9 / shares:.3f}")
    return variables
