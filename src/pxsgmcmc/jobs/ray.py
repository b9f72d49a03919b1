"""Jobs on a Ray cluster, or on one that is started on this machine.

A job is a Ray task that starts the job's process and waits for it: threads, large pages and signals
want a fresh process, and a worker of Ray is none. The kernel ends that process when the worker ends
(`memory.end_with`), so a killed worker or node takes its chains along; one that is only cut off may
go on writing until its lease is over, as everywhere. Ray itself retries nothing. It is given the
path of a sheet, a number and words, and answers with an exit code.

A task on a node that was cut off answers nothing, and Ray waits for it for minutes after it has
given the node up. So each task leaves the node's name in its sheet, and those of dead nodes are
taken for gone. A node that was asked to take a task and never answered keeps Ray from starting that
task, and others like it, for as long as the connection holds: what has not begun when a node is
lost is handed in again, as another function, for which Ray asks anew.

The raylet is Ray's process that has the workers of a node as its children; when it dies alone,
workers live on, and their chains with them. So a task that has lost its raylet lets its chain save
and end, and ends its worker.
"""

import functools
import math
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pxsgmcmc.errors import UserError, check_count, check_number, did_you_mean, one_line
from pxsgmcmc.jobs.engine import Watch
from pxsgmcmc.jobs.job import Job
from pxsgmcmc.jobs.local import COMMAND, environment
from pxsgmcmc.jobs.queue import QueuePace, Seen
from pxsgmcmc.jobs.queued import run_queued
from pxsgmcmc.jobs.ray_start import connect, import_ray
from pxsgmcmc.jobs.sheet import Sheet, read_sheet

PACE = QueuePace(queue=0.5, settle=5.0)
SETTLED = 10.0  # seconds after which all of a cluster should know that a node is lost
NODE = "node"  # the kind of file in a sheet that has a task and its node
# What jobs have as this process has it, and not as the node: flags of XLA decide the last bits.
_PASSED_ON = ("PXSGMCMC_", "JAX_", "XLA_", "PJRT_")


@dataclass(frozen=True)
class Ray:
    """The engine of a Ray cluster.

    Attributes:
      at_once: how many jobs are handed to Ray at the same time.
      address: of the cluster; "auto" for one that runs, as RAY_ADDRESS or `ray start` says, and one
        on this machine alone if there is none.
      cpus: of each job, by which Ray decides how many run on a node.
      gpus: of each job, of which it sees no others.
      command: what to start for each job; a folder and numbers are added.
      pace: how often to look.
    """

    at_once: int
    address: str = "auto"
    cpus: float = 1.0
    gpus: float = 0.0
    command: tuple[str, ...] = COMMAND
    pace: QueuePace = PACE

    def __post_init__(self) -> None:
        """See that Ray is there."""
        check_count("at_once", self.at_once, at_least=1)
        _check_share("--num-cpus", self.cpus)
        _check_share("--num-gpus", self.gpus)
        if self.gpus > 1 and self.gpus != int(self.gpus):  # of one card a part can be had
            raise UserError(
                f"`--engine ray --num-gpus` above 1 must be a whole number, got {self.gpus:g}."
            )
        import_ray()

    def run(self, jobs: Sequence[Job], watch: Watch) -> int | None:
        """Run all jobs to their end; see `Engine`."""
        ray, ours = import_ray(), False
        if not ray.is_initialized():
            connect(self.address, _to_standard_error)
            ours = True
        try:
            queue = _RayQueue(self.command, {"num_cpus": self.cpus, "num_gpus": self.gpus})
            queue.check_room(_to_standard_error)
            pace = self.pace._replace(most=self.at_once)
            return run_queued(queue, jobs, watch, pace, self.command[0])
        finally:
            if ours:
                ray.shutdown()


def ray_engine(options: Sequence[str], at_once: int) -> Ray:
    """The engine with options as they are typed.

    Args:
      options: --address=HOST:PORT, --num-cpus=N, --num-gpus=N.
      at_once: how many jobs are handed to Ray at the same time.
    """
    known = {"--address": "address", "--num-cpus": "cpus", "--num-gpus": "gpus"}
    given: dict[str, Any] = {}
    for option in options:
        name, _, value = option.partition("=")
        if name not in known:
            raise UserError(f"`--engine ray` has no option {name!r}; {did_you_mean(name, known)}")
        try:
            given[known[name]] = value if name == "--address" else float(value)
        except ValueError:
            raise UserError(
                f"`--engine ray {name}` must be a number, got {one_line(value)}."
            ) from None
    return Ray(at_once, **given)


def _check_share(option: str, value: float) -> None:
    """What a job takes of a node: Ray counts in ten-thousandths."""
    check_number(f"--engine ray {option}", value, at_least=0.0)
    if 0.0 < value < 1e-4:
        raise UserError(f"`--engine ray {option}` must be 0 or at least 0.0001, got {value!r}.")


@dataclass
class _Task:
    """A job in the hands of Ray."""

    name: str
    ref: Any
    sheet: Sheet
    number: int
    _node: str = ""

    @property
    def node(self) -> str:
        """Where it runs, as Ray calls the node; empty before it does."""
        if not self._node:
            with suppress(OSError, ValueError):
                name, node = self.sheet.path(self.number, NODE).read_text().split()
                self._node = node if name == self.name else ""  # else of an earlier attempt
        return self._node


@dataclass
class _RayQueue:
    """Ray's tasks; see `Queue`."""

    command: tuple[str, ...]
    needs: dict[str, float]
    engine: str = "ray"
    _tasks: dict[str, _Task] = field(default_factory=dict)
    _words: dict[str, str] = field(default_factory=dict)
    _lost: dict[str, float] = field(default_factory=dict)  # a node -> when that was first seen
    _epoch: int = -1  # changes when a node is lost, and again when all should know; -1 at first

    def check_room(self, say: Callable[[str], None]) -> None:
        """Say so if no node of the cluster could take a job."""
        wanted = {"CPU": self.needs["num_cpus"], "GPU": self.needs["num_gpus"]}
        nodes = [node["Resources"] for node in import_ray().nodes() if node["Alive"]]
        if not any(all(node.get(k, 0.0) >= v for k, v in wanted.items()) for node in nodes):
            text = ", ".join(f"{value:g} {name}" for name, value in wanted.items() if value)
            say(f"No node of the Ray cluster has {text}: jobs wait until there is one")

    def submit(self, sheet: Sheet, numbers: Sequence[int]) -> dict[int, str]:
        """A task for each."""
        prefix, names = secrets.token_hex(4), {}
        for number in numbers:
            name = names[number] = f"{prefix}-{number}"
            self._tasks[name] = _Task(name, self._ask_for(name, sheet, number), sheet, number)
        return names

    def _ask_for(self, name: str, sheet: Sheet, number: int) -> Any:
        options = {"max_retries": 0, "scheduling_strategy": "SPREAD", **self.needs}
        passed_on = {k: v for k, v in os.environ.items() if k.startswith(_PASSED_ON)}
        passed_on["PYTHONPATH"] = environment(1)["PYTHONPATH"]
        attending = _task(self._epoch).options(**options)
        words = list(self.command[1:])
        return attending.remote(str(sheet.folder), number, name, words, passed_on)

    def look(self) -> dict[str, Seen] | None:
        """All tasks that Ray has, and keep the last words of the others."""
        if not self._tasks:
            return {}
        ray = import_ray()
        tasks = {task.ref: task for task in self._tasks.values()}
        ready, _ = ray.wait(list(tasks), num_returns=len(tasks), timeout=0)
        for ref in ready:
            try:
                words = _words_of(ray.get(ref))
            except ray.exceptions.RayError as error:  # its worker or its node is gone
                words = f"Ray says {type(error).__name__}"
            self._forget(tasks.pop(ref), words)
        nodes = {node["NodeID"]: node["Alive"] for node in ray.nodes()}
        for task in tasks.values():
            if not nodes.get(task.node, True):
                self._forget(task, "Ray has given up its node")
        self._ask_again({node for node, alive in nodes.items() if not alive})
        return dict.fromkeys(self._tasks, Seen(running=True))

    def _ask_again(self, lost: set[str]) -> None:
        """Hand in anew what has not begun, if a node was lost that may have been asked to take it.

        Once when that is seen, and once more when no other node can think that it is there.
        """
        now, first = time.monotonic(), self._epoch < 0
        for node in lost - self._lost.keys():
            self._lost[node] = -math.inf if first else now
        epoch = sum(1 + (now >= seen + SETTLED) for seen in self._lost.values())
        if epoch == self._epoch:
            return
        self._epoch = epoch
        for task in [] if first else self._tasks.values():
            if not task.node:
                with suppress(Exception):  # it has just ended
                    import_ray().cancel(task.ref, force=True)
                task.ref = self._ask_for(task.name, task.sheet, task.number)

    def _forget(self, task: _Task, words: str) -> None:
        self._words[task.name] = words
        del self._tasks[task.name]

    def stop(self, names: Sequence[str]) -> None:
        """Nothing: those who attend to jobs see that the sheet is to stop."""

    def kill(self, names: Sequence[str]) -> None:
        """End the workers, and with them the jobs."""
        for name in names:
            if (task := self._tasks.pop(name, None)) is not None:
                with suppress(Exception):  # it ended by itself
                    import_ray().cancel(task.ref, force=True)

    def last_words(self, name: str) -> str:
        """How its process died, or its worker."""
        return self._words.pop(name, "")


@functools.cache
def _task(epoch: int) -> Any:
    """`attend` as Ray has it: once in an epoch, since Ray keeps what it is given."""
    del epoch
    return import_ray().remote(attend)


def attend(folder: str, number: int, name: str, words: list[str], variables: dict[str, str]) -> int:
    """Run the process of a job to its end; the task of Ray.

    Args:
      folder: of the sheet.
      number: of the job.
      name: of the task, under which it leaves that of its node.
      words: what to start, after the interpreter, which is that of the worker.
      variables: of the environment, in place of all that the worker has of their kinds.

    Returns:
      The exit code, minus the number of the signal that it died of.
    """
    sheet = read_sheet(Path(folder))
    if sheet.stopping:
        return 0
    path = sheet.path
    path(number, NODE).write_text(f"{name} {import_ray().get_runtime_context().get_node_id()}\n")
    own = {key: value for key, value in os.environ.items() if not key.startswith(_PASSED_ON)}
    with path(number, "out").open("ab") as out, path(number, "err").open("ab") as errors:
        child = subprocess.Popen(
            [sys.executable, *words, folder, str(number), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            env=own | variables,
            cwd=sheet.facts.cwd,
            start_new_session=True,
        )
    raylet, terminated = os.getppid(), False
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                return child.wait(timeout=0.5)
            if not terminated and (sheet.stopping or os.getppid() != raylet):
                child.terminate()
                terminated = True
    finally:
        child.kill()
        if os.getppid() != raylet:  # Ray lets workers of a raylet that died live on
            os._exit(1)


def _words_of(code: int) -> str:
    return f"signal {-code}" if code < 0 else ""


def _to_standard_error(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
