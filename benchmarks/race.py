"""Candidates measured side by side: a process each, taking steps in turns.

A machine's speed drifts, so what counts is the ratio of two candidates within one round, and the
median of that over rounds.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

HERE = Path(__file__).parent


class Candidate(NamedTuple):
    """What to start: a worker program, the name it knows, and `key=value` settings."""

    label: str
    name: str
    settings: Mapping[str, Any] = MappingProxyType({})
    program: str = "jax_worker.py"
    python: str = sys.executable
    environment: Mapping[str, str] = MappingProxyType({})


class Worker:
    """A candidate that is running."""

    def __init__(self, candidate: Candidate):
        self.label = candidate.label
        words = [f"{key}={value}" for key, value in candidate.settings.items()]
        self._process = subprocess.Popen(
            [candidate.python, str(HERE / candidate.program), candidate.name, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | candidate.environment,
        )
        ready = self._answer()
        self.first_step_seconds, self.idle_mb = ready["first_step_seconds"], ready["idle_mb"]
        self.peak_mb = 0.0

    def __enter__(self) -> "Worker":
        """This worker."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self._process.communicate()

    def begin(self, steps: int) -> None:
        """Tell it to take steps."""
        assert self._process.stdin
        self._process.stdin.write(f"{steps}\n")
        self._process.stdin.flush()

    def end(self) -> float:
        """Wait for the steps; returns the seconds they took."""
        answer = self._answer()
        self.peak_mb = answer["peak_mb"]
        return answer["seconds"]

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.label} ended with code {self._process.wait()}")
        return json.loads(line)


class Times(NamedTuple):
    """What one candidate took."""

    step_seconds: list[float]  # one a round
    first_step_seconds: float  # from the start of its process
    peak_mb: float  # while it took steps
    idle_mb: float  # before them


def race(
    candidates: Sequence[Candidate], *, steps: int, rounds: int, untimed: int = 0
) -> dict[str, Times]:
    """Seconds a step of each candidate, in rounds; the order turns from round to round.

    Each turn begins with `untimed` steps: memory that a large network freed before the others took
    their turns has gone elsewhere, and a chain that runs on does not pay for getting it back.
    """
    with ExitStack() as stack:
        workers = []
        for candidate in candidates:
            print(f"  starting {candidate.label}", flush=True)
            workers.append(stack.enter_context(Worker(candidate)))
        seconds: dict[str, list[float]] = {worker.label: [] for worker in workers}
        for number in range(-1, rounds):  # one round to warm up
            turn = number % len(workers)
            for worker in workers[turn:] + workers[:turn]:
                if untimed:
                    worker.begin(untimed)
                    worker.end()
                worker.begin(steps)
                took = worker.end() / steps
                if number >= 0:
                    seconds[worker.label].append(took)
        return {
            worker.label: Times(
                seconds[worker.label], worker.first_step_seconds, worker.peak_mb, worker.idle_mb
            )
            for worker in workers
        }


def race_together(alone: Candidate, crowd: Sequence[Candidate], *, steps: int, rounds: int) -> Any:
    """Steps a second of one candidate alone and of several at once, in turns."""
    with ExitStack() as stack:
        single = stack.enter_context(Worker(alone))
        workers = [stack.enter_context(Worker(candidate)) for candidate in crowd]
        rates: list[tuple[float, float]] = []
        for _ in range(rounds):
            single.begin(steps)
            one = steps / single.end()
            for worker in workers:
                worker.begin(steps)
            rates.append((one, len(workers) * steps / max(worker.end() for worker in workers)))
        return rates


class Ratio(NamedTuple):
    """The median of a ratio over rounds, with its quartiles."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        """As in a table."""
        return f"{self.median:.3f} ({self.low:.3f} to {self.high:.3f})"


def ratio(above: Iterable[float], below: Iterable[float]) -> Ratio:
    """Of two candidates, round by round."""
    return spread([a / b for a, b in zip(above, below, strict=True)])


def spread(values: Sequence[float]) -> Ratio:
    """Median and quartiles."""
    if len(values) < 2:
        return Ratio(values[0], values[0], values[0])
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return Ratio(statistics.median(values), low, high)
