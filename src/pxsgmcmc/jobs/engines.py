"""Engines by name, as `--engine` has them."""

import shlex

from pxsgmcmc.errors import UserError, did_you_mean, one_line
from pxsgmcmc.jobs.engine import Engine
from pxsgmcmc.jobs.local import Local
from pxsgmcmc.jobs.ray import Ray, ray_engine
from pxsgmcmc.jobs.slurm import Slurm

ENGINES = ("local", "slurm", "ray")
ON_A_CLUSTER = 32  # jobs at the same time, unless told


def is_cluster(engine: Engine) -> bool:
    """Whether its jobs run on other machines, and may run there before it was asked to."""
    return isinstance(engine, Slurm | Ray)


def engine_named(text: str, at_once: int | None = None) -> Local | Slurm | Ray:
    """The engine of that name.

    Args:
      text: "local" for processes on this machine; "slurm" for a Slurm cluster, with options of
        sbatch after it, as in "slurm --partition=gpu --gpus=1 --time=12:00:00"; "ray" for a Ray
        cluster, with --address=HOST:PORT, --num-cpus=N and --num-gpus=N of each job after it.
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
    many = ON_A_CLUSTER if at_once is None else at_once
    if name == "slurm":
        return Slurm(many, tuple(options))
    if name == "ray":
        return ray_engine(options, many)
    if options:
        raise UserError(f"`--engine local` takes no options, got {options[0]!r}.")
    return Local() if at_once is None else Local(at_once)
