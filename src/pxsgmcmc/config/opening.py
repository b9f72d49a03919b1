"""Open any run directory: whoever made it, it becomes a `Run`."""

import shlex
from pathlib import Path
from typing import Any

import jax

from pxsgmcmc.config.build import build
from pxsgmcmc.config.data_description import read_description
from pxsgmcmc.config.estimator_problem import problem_of_estimator
from pxsgmcmc.config.problem import without_test
from pxsgmcmc.config.schema import Config
from pxsgmcmc.config.toml import parse_config, started_from_python
from pxsgmcmc.errors import UserError
from pxsgmcmc.expansion import collapse
from pxsgmcmc.problem import Problem
from pxsgmcmc.run import Run
from pxsgmcmc.store import open_run
from pxsgmcmc.store.chains import is_several, open_folders
from pxsgmcmc.types import Sampler, Tree


def open_any(
    path: str | Path,
    problem: Problem | None = None,
    *,
    sampler: Sampler | None = None,
    position: Tree | None = None,
    settings: list[str] | None = None,
    data: bool = True,
    blind: bool = False,
) -> Run:
    """Open a run directory, to predict with it or to look into it.

    Args:
      path: of the run, as given to `px.sample(out=...)` or `pxsgmcmc run --out`; several chains are
        taken together.
      problem: what was sampled. A run that a configuration made needs none, nor does one of a
        scikit-learn estimator whose network was given by hidden widths: it can predict.
      sampler: that made the draws, for the diagnostics that need the energy.
      position: where the chain started, or anything of its shapes; without it, draws are nested
        dictionaries by name unless the problem has `init`.
      settings: flags over the [evaluate] section of the run's configuration.
      data: whether to read the data of a run that a configuration made. Without them it can
        predict, wherever the data are, and nothing else.
      blind: leave out the test rows and everything else that is kept for the judge.

    Raises:
      UserError: if it is not a run, or the problem is not the one it was made from.

    Example: see `docs/predict.md`.
    """
    folder = Path(path)
    records = [open_run(place) for place in _places(folder)]
    origin = records[0].manifest["origin"]
    if problem is None and not started_from_python(records[0].config):
        return _from_config(folder, records, settings, data, blind)
    if problem is not None:
        problem = without_test(problem) if blind else problem
        _check_same_data(folder, origin, problem)
    else:
        problem = problem_of_estimator(origin, folder)
    if problem is not None and position is None and problem.init is not None:
        position = jax.eval_shape(problem.initial, jax.random.key(0))
    like = None if position is None else jax.eval_shape(collapse, position)
    states = None
    if sampler is not None and position is not None:
        states = jax.eval_shape(sampler.init, position)
    return Run(records, problem, like, path=folder, sampler=sampler, state_like=states)


def _places(folder: Path) -> list[Path]:
    """The run directories of the chains that have begun; of a single run, its own."""
    if not is_several(folder):
        return [folder]
    begun = open_folders(folder)
    if not begun:
        raise UserError(
            f"`{folder}` has no draws yet: go on with `pxsgmcmc resume {shlex.quote(str(folder))}`."
        )
    return begun


def config_of(record: Any, settings: list[str] | None = None) -> Config:
    """The configuration of a run, with flags over its [evaluate] section."""
    for flag in settings or []:
        if flag.startswith("--") and not flag.startswith("--evaluate."):
            raise UserError(
                f"`{flag}` cannot be changed after the run; settings of [evaluate] can, as in "
                "--evaluate.subset 500."
            )
    return parse_config(record.config, settings, name=f"{record.path}/config.toml")


def _from_config(
    folder: Path, records: list[Any], settings: list[str] | None, data: bool, blind: bool
) -> Run:
    config, origin = config_of(records[0], settings), records[0].manifest["origin"]
    prepared = None if data else read_description(origin, folder)
    judging = data and not blind
    built = build(config, judging=judging, begun=True, blind=blind, prepared=prepared)
    if prepared is None:
        _check_same_data(folder, origin, built.problem)
    sampler = built.sampler(1.0)
    position = jax.eval_shape(lambda: built.position(0))
    return Run(
        records,
        built.problem,
        jax.eval_shape(collapse, position),
        path=folder,
        sampler=sampler,
        state_like=jax.eval_shape(sampler.init, position),
    )


def _check_same_data(folder: Path, origin: dict[str, Any], problem: Problem) -> None:
    kept = origin.get("data_sha256")
    if kept not in (None, problem.sha256):
        raise UserError(
            f"`{folder}` was made from other training data than the problem has now: its SHA-256 "
            "differs; bring back the data it had."
        )
    if origin.get("likelihood") not in (None, problem.likelihood.name):
        raise UserError(
            f"`{folder}` was made with the likelihood {origin['likelihood']}, the problem has "
            f"{problem.likelihood.name}."
        )
