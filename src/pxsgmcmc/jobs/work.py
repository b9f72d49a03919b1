"""What the process of a job does: the stages that are missing, one after the other."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pxsgmcmc.jobs.job import EVALUATE, SAMPLE, VALIDATE, Job, Stage, missing_stages
from pxsgmcmc.progress import Progress

if TYPE_CHECKING:
    from pxsgmcmc.problem import Problem


def work(
    job: Job, progress_of: Callable[[Stage], Progress], problem: "Problem | None" = None
) -> int:
    """Do what is missing of a job.

    Args:
      job: what to do.
      progress_of: from a stage to who is told how far it is.
      problem: in place of the one that the configuration names, where only Python knows it.

    Returns:
      The exit code: 0, or 128 + n if signal n stopped it and everything was saved.
    """
    config = job.settings()
    if "jax" not in sys.modules:  # it reads this when it starts
        os.environ["PJRT_NPROC"] = str(config.threads)
    for stage in missing_stages(job):
        progress = progress_of(stage)
        if stage == SAMPLE:
            from pxsgmcmc.config.run_config import run_config

            run = run_config(
                config,
                job.folder,
                chain=job.chain,
                draws=job.draws,
                resume=True,
                accept_changes=job.accept_changes,
                blind=job.blind,
                problem=problem,
                progress=progress,
            )
            if run.stopped_by is not None:
                return 128 + run.stopped_by
        else:
            _judge(job, stage, progress, problem)
    return 0


def _judge(job: Job, stage: Stage, progress: Progress, problem: "Problem | None") -> None:
    from pxsgmcmc.config.evaluate_options import options_of
    from pxsgmcmc.config.opening import open_any

    run = open_any(Path(job.folder), problem, blind=job.blind)
    if stage == VALIDATE:
        from pxsgmcmc.evaluate.validate import validate

        validate(run, progress=progress)
    elif stage == EVALUATE:
        run.evaluate(options_of(run), progress=progress)
    else:
        run.diagnose(progress=progress)
