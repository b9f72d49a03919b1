"""Engines by name, as `--engine` has them."""

import shlex

from pxsgmcmc.errors import UserError, did_you_mean, one_line
from pxsgmcmc.jobs.local import Local
from pxsgmcmc.jobs.slurm import Slurm

ENGINES = ("local", "slurm")
ON_A_CLUSTER = 32  # jobs at the same time, unless told


def engine_named(text: str, at_once: int | None = None) -> Local | Slurm:
    """The engine of that name.

    Args:
      text: "local" for processes on this machine; "slurm" for a Slurm cluster, with options of
        sbatch after it, as in "slurm --partition=gpu --gpus=1 --time=12:00:00".
      at_once: how many jobs run at the same time; as many as there are cores if not given, and 32
        on a cluster.

    Example:
      >>> engine_named("local", 2).at_once
      2
    """
    try:
        name, *options = shlex.split(text)
    except ValueError:
        raise UserError(f"`--engine` must be a name and options, got {one_line(text)}.") from None
    if name not in ENGINES:
        raise UserError(f"`--engine` cannot be {name!r}; {did_you_mean(name, ENGINES)}")
    if name == "slurm":
        many = ON_A_CLUSTER if at_once is None else at_once
        return Slurm(many, tuple(options))
    if options:
        raise UserError(f"`--engine local` takes no options, got {options[0]!r}.")
    return Local() if at_once is None else Local(at_once)
