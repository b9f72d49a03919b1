"""Making what a plan lacks: runs as jobs of an engine, computations one after the other.

Whatever is killed, and wherever, no run that has its record is made again: a record is written as
soon as its run is done, and a run directory goes on from where it was.
"""

import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from pxsgmcmc.chain.code_revision import code_revision
from pxsgmcmc.config import Config, write_config
from pxsgmcmc.data._locate import locate
from pxsgmcmc.data._official import OFFICIAL
from pxsgmcmc.errors import Interrupted
from pxsgmcmc.jobs import DIAGNOSE, EVALUATE, SAMPLE, Ended, Engine, Job, JobFailed, Stage
from pxsgmcmc.jobs.chains import chain_jobs
from pxsgmcmc.jobs.display import Display
from pxsgmcmc.jobs.engines import is_cluster
from pxsgmcmc.reproduce import plan
from pxsgmcmc.reproduce.computing import compute
from pxsgmcmc.reproduce.experiment import Needed
from pxsgmcmc.reproduce.plan import PlannedTask, is_done
from pxsgmcmc.reproduce.reading import diverged_record, record_of
from pxsgmcmc.reproduce.record import Record, write_record
from pxsgmcmc.store.files import make_folders


def check_data(tasks: Sequence[PlannedTask]) -> None:
    """Hear of missing data now, with their address, and not from the first run."""
    check_sets([task.config for task in tasks if task.config is not None])
    for needed in {v for task in tasks for v in task.arm.over.values() if isinstance(v, Needed)}:
        needed.check()


def check_sets(configs: Sequence[Config]) -> None:
    """Raise `UserError` with its address if an official set of these is not there."""
    names = {config.data.name for config in configs if config.data is not None}
    for name in sorted(name for name in names if name in OFFICIAL):
        locate(name)


def make(
    tasks: Sequence[PlannedTask], engine: Engine, *, title: str, command: str, scale: str
) -> int | None:
    """Make what has no record yet.

    Args:
      tasks: what is needed.
      engine: that runs the chains.
      title: of the progress.
      command: to be kept with the records.
      scale: its name.

    Returns:
      The number of the signal that stopped it, None if all is made.
    """
    todo = [task for task in tasks if not is_done(task)]
    chains = [task for task in todo if task.config is not None]
    # Runs that others start from come first; records of theirs are not enough to start from.
    first = {one.folder: one for task in chains for one in task.after}
    later = [task for task in chains if task.folder not in first]
    for wave in (list(first.values()), later):
        if wave and (stopped_by := _Runs(wave, command, scale).make(engine, title)) is not None:
            return stopped_by
    computed = [task for task in todo if task.config is None]
    for number, task in enumerate(computed, start=1):
        print(f"{title}: computing {task.label} ({number} of {len(computed)})", flush=True)
        began = time.monotonic()
        try:
            answer = compute(task.arm.compute, task.arm.over, task.seed)
        except Interrupted as stopped:
            return stopped.signal
        write_record(
            task.record,
            Record(
                scale=scale,
                method=task.method,
                digest=task.digest,
                seed=task.seed,
                outcome="done",
                healthy=None,
                headline="computed",
                values=answer.values,
                curves=answer.curves,
                config=str(dict(task.arm.over)),
                command=command,
                revision=code_revision(),
                hashes=answer.hashes,
                seconds=round(time.monotonic() - began, 1),
                parts=task.parts,
            ),
        )
    return None


class _Runs:
    """Runs of a plan, and the jobs that make them."""

    def __init__(self, tasks: Sequence[PlannedTask], command: str, scale: str):
        self._command, self._scale = command, scale
        self._of: dict[Job, PlannedTask] = {}
        self._left: dict[Path, set[Job]] = {}
        self._seconds: dict[Path, float] = {}
        for task in tasks:
            jobs = jobs_of(task)
            self._of |= dict.fromkeys(jobs, task)
            self._left[task.folder], self._seconds[task.folder] = set(jobs), 0.0

    def make(self, engine: Engine, title: str) -> int | None:
        shown = Display(
            title, list(self._of), self._on_end, seconds=30.0, elsewhere=is_cluster(engine)
        )
        with closing(shown) as display:
            todo = display.todo
            for job in self._of.keys() - set(todo):  # done, and killed before its record was kept
                display.ended(job, Ended(0))
            return engine.run(todo, display)

    def _on_end(self, job: Job, ended: Ended) -> str | None:
        task = self._of[job]
        if ended.code >= 128:
            return None
        if ended.failed:
            raise JobFailed(job, ended).as_error()
        self._seconds[task.folder] += ended.seconds
        self._left[task.folder].discard(job)
        if ended.diverged:
            made = diverged_record(task, self._scale, self._command, ended.sentence)
        elif self._left[task.folder]:
            return None
        else:
            made = record_of(task, self._scale, self._command, self._seconds[task.folder])
        write_record(task.record, made)
        return f"{task.label}: {made.headline}"


def jobs_of(task: PlannedTask) -> list[Job]:
    """The jobs of a run: one, or one for each of its chains, which are then judged together."""
    config = task.config
    assert config is not None
    make_folders(task.folder.parent)
    if config.chains > 1:
        jobs = chain_jobs(config, task.folder, resume=True)
        return [Job(j.config, j.folder, f"{task.label}, {j.label}", chain=j.chain) for j in jobs]
    stages: tuple[Stage, ...] = (SAMPLE, EVALUATE)
    stages += (DIAGNOSE,) if plan.DIAGNOSE in task.parts else ()
    return [Job(write_config(config), str(task.folder), task.label, stages=stages)]
