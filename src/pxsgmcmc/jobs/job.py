"""A job: one chain of a configuration, what to do with it, and the folder that says how far it is.

The demo, several chains and a search over settings are lists of jobs. A job can be started again
at any time: what its folder has already is not done again.
"""

from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from pxsgmcmc.config import Config, parse_config
from pxsgmcmc.errors import UserError
from pxsgmcmc.results import Diagnostics, Results, Validation
from pxsgmcmc.store import open_run
from pxsgmcmc.store.layout import MANIFEST

Stage = Literal["sample", "evaluate", "diagnose", "validate"]
SAMPLE, EVALUATE, DIAGNOSE, VALIDATE = get_args(Stage)
_KEPT: dict[str, tuple[str, Any]] = {
    EVALUATE: ("results.json", Results),
    DIAGNOSE: ("eval/diagnostics.json", Diagnostics),
    VALIDATE: ("eval/validation.json", Validation),
}


class Job(msgspec.Struct, frozen=True):
    """A configuration with its seed, the number of a chain, and the stages to go through.

    Attributes:
      config: the configuration as TOML with everything spelt out, as `write_config` writes it.
      folder: the run directory of the chain.
      label: what a person calls the job.
      chain: the number of the chain, which with the seed decides its randomness.
      draws: how many draws to have in the end, if not as many as the configuration says.
      stages: what to do, in this order; "validate" measures the validation rows alone, and a job
        that has it never sees the test rows.
      accept_changes: go on although what decides the draws is not as the run began.

    Example:
      >>> Job("seed = 1", "runs/a/chain-0000", "chain 0").stages
      ('sample',)
    """

    config: str
    folder: str
    label: str
    chain: int = 0
    draws: int | None = None
    stages: tuple[Stage, ...] = (SAMPLE,)
    accept_changes: bool = False

    @property
    def blind(self) -> bool:
        """Whether it chooses settings, and so may not see test rows in any of its stages."""
        return VALIDATE in self.stages

    def settings(self) -> Config:
        """The configuration, read."""
        return parse_config(self.config, name=self.label)


def missing_stages(job: Job, *, look_only: bool = False) -> tuple[Stage, ...]:
    """What is still to be done of a job, after tidying up behind a writer that was killed.

    A result counts if it is about all the draws there are.

    Args:
      job: which.
      look_only: take no lock and tidy nothing up, so that another process may work on the run.

    Raises:
      UserError: if another process works on the run, unless this only looks.
    """
    folder = Path(job.folder)
    if not (folder / MANIFEST).exists():
        return job.stages
    wanted = job.draws if job.draws is not None else job.settings().chain.draws
    with open_run(folder, writable=not look_only) as run:
        if SAMPLE in job.stages and (run.status != "done" or len(run.draws) < wanted):
            return job.stages
        return tuple(
            stage for stage in job.stages if stage in _KEPT and not _is_kept(run, *_KEPT[stage])
        )


def _is_kept(run: Any, name: str, kind: Any) -> bool:
    try:
        result = msgspec.json.decode(run.read_artifact(name), type=kind)
    except (UserError, msgspec.MsgspecError):  # not there, or written by another version
        return False
    return result.subject.draws == len(run.draws)


def read_validation(folder: str | Path) -> Validation:
    """What the stage "validate" found out about the run in a folder."""
    data = open_run(folder).read_artifact(_KEPT[VALIDATE][0])
    return msgspec.json.decode(data, type=Validation)
