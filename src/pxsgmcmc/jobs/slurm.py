"""Jobs on a cluster that Slurm looks after, by its own commands: sbatch, squeue, scancel.

Jobs are tasks of one array, and a task is the job's process itself: the batch script becomes it.
`--signal=B:TERM@120` sends that process SIGTERM two minutes before the time limit, and a cluster
that takes places away for others does so when it does; the chain then finishes its chunk, saves and
asks to be put back into the queue (`scontrol requeue`), where it goes on whoever looks on. After
the loss of a node Slurm puts it back by itself (`--requeue`).
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.jobs.engine import Watch
from pxsgmcmc.jobs.job import Job
from pxsgmcmc.jobs.local import COMMAND, environment
from pxsgmcmc.jobs.queue import BLOCK, QueuePace, Seen
from pxsgmcmc.jobs.queued import run_queued
from pxsgmcmc.jobs.sheet import Sheet

PACE = QueuePace(queue=10.0, settle=30.0)
TIMEOUT = 120.0  # seconds for a command of Slurm
SCRIPT = """#!/bin/sh
# Task of an array of jobs of pxsgmcmc; arguments: folder of the sheet, number of the first job.
number=$(($2 + SLURM_ARRAY_TASK_ID))
stem=$(printf '%s/%04d' "$1" "$number")
{exports}
exec {command} "$1" "$number" >>"$stem.out" 2>>"$stem.err"
"""
# In the long form, as squeue's %T has them.
_OVER = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"),
    *("OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"),
}
_WAITING = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"}


@dataclass(frozen=True)
class Slurm:
    """The engine of a Slurm cluster.

    Attributes:
      at_once: how many jobs of an array run at the same time.
      options: for sbatch, as in ("--partition=gpu", "--gpus=1", "--time=12:00:00").
      command: what to start for each job; a folder and a number are added.
      pace: how often to look.
    """

    at_once: int
    options: tuple[str, ...] = ()
    command: tuple[str, ...] = COMMAND
    pace: QueuePace = PACE

    def __post_init__(self) -> None:
        """See that there is a cluster."""
        check_count("at_once", self.at_once, at_least=1)
        for name in ("sbatch", "squeue", "scancel"):
            if shutil.which(name) is None:
                raise UserError(
                    f"`--engine slurm` needs Slurm's command `{name}`, which is not on PATH: start "
                    "it on a machine from which jobs are submitted, or take `--engine local`."
                )

    def run(self, jobs: Sequence[Job], watch: Watch) -> int | None:
        """Run all jobs to their end; see `Engine`."""
        queue = _SlurmQueue(self.at_once, self.options, self.command)
        return run_queued(queue, jobs, watch, self.pace, self.command[0])


@dataclass(frozen=True)
class _SlurmQueue:
    """Slurm's commands; see `Queue`."""

    at_once: int
    options: tuple[str, ...]
    command: tuple[str, ...]
    engine: str = "slurm"

    def submit(self, sheet: Sheet, numbers: Sequence[int]) -> dict[int, str]:
        """Hand them in as one array."""
        first = numbers[0] - numbers[0] % BLOCK
        script = sheet.folder / "script.sh"
        variables = environment(1)
        different = {(job := sheet.job(number)).config: job for number in numbers}
        threads = max(job.settings().threads or 1 for job in different.values())
        exports = {"PYTHONPATH": variables["PYTHONPATH"], "OMP_NUM_THREADS": str(threads)}
        lines = [f"export {name}={shlex.quote(value)}" for name, value in exports.items()]
        text = SCRIPT.format(exports="\n".join(lines), command=shlex.join(self.command))
        script.write_text(text)
        log = str(sheet.folder / "slurm.log").replace("%", "%%")
        done = _call(
            *("sbatch", "--parsable", "--job-name=pxsgmcmc", "--ntasks=1"),
            *(f"--cpus-per-task={threads}", "--requeue", "--signal=B:TERM@120"),
            *(f"--array={_ranges([n - first for n in numbers])}%{self.at_once}",),
            *(f"--chdir={sheet.facts.cwd}", f"--output={log}", "--open-mode=append"),
            *(*self.options, str(script), str(sheet.folder), str(first)),
            variables=variables,
        )
        answer = done.stdout.strip().partition(";")[0]  # the rest names the cluster, if one of many
        if done.returncode or not answer.isdecimal():
            refusal = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
            raise UserError(f"Slurm did not take the jobs; `sbatch` said: {refusal}")
        return {number: f"{answer}_{number - first}" for number in numbers}

    def look(self) -> dict[str, Seen] | None:
        """All jobs of this user that wait or run."""
        return look_at_slurm()

    def stop(self, names: Sequence[str]) -> None:
        """Cancel those that wait, and signal those that run."""
        if names:
            _call("scancel", "--state=PENDING", *names)
            _call("scancel", "--signal=TERM", "--batch", *names)

    def kill(self, names: Sequence[str]) -> None:
        """Cancel them: Slurm sends SIGTERM, and SIGKILL half a minute later."""
        _call("scancel", *names)

    def last_words(self, name: str) -> str:
        """The state in which Slurm's accounts have it, where it keeps any."""
        if shutil.which("sacct") is None:
            return ""
        words = ("sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={name}")
        done = _call(*words, "--format=State")
        lines = done.stdout.split("\n") if not done.returncode else [""]
        return f"Slurm says {lines[0].strip()}" if lines[0].strip() else ""


def look_at_slurm() -> dict[str, Seen] | None:
    """All jobs of this user that wait or run, by Slurm's name; None if it does not answer."""
    # Not by their numbers: Slurm forgets those that ended, and then refuses the question.
    words = ("squeue", "--noheader", "--array", f"--user={os.getuid()}")
    done = _call(*words, "--format=%i|%T|%N|%r")
    if done.returncode:
        return None
    seen = {}
    for line in done.stdout.splitlines():
        name, state, where, why = [*line.strip().split("|", 3), "", "", ""][:4]
        if state not in _OVER:
            waits = state in _WAITING
            seen[name] = Seen(not waits, where, why if waits else "")
    return seen


def requeue_this_job() -> None:
    """Put the job that this process is back into the queue, if Slurm lets us."""
    if number := os.environ.get("SLURM_JOB_ID"):
        _call("scontrol", "requeue", number)


def _call(*words: str, variables: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Call a command; whatever goes wrong is an exit code that is not 0."""
    try:
        return subprocess.run(
            words, capture_output=True, text=True, timeout=TIMEOUT, env=variables, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 1, "", str(error))


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers as sbatch's --array has them.

    Example:
      >>> _ranges([0, 1, 2, 5])
      '0-2,5'
    """
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
