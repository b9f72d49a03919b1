"""`tune`: search step size, friction and prior on the validation rows."""

import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pxsgmcmc.config import Config, parse_config, read_config, write_config
from pxsgmcmc.config.toml import as_toml
from pxsgmcmc.errors import UserError, one_line
from pxsgmcmc.jobs import Engine
from pxsgmcmc.jobs.engines import engine_named
from pxsgmcmc.jobs.in_process import InProcess
from pxsgmcmc.problem import Problem
from pxsgmcmc.results import Trial, Tuning
from pxsgmcmc.store import files, lock
from pxsgmcmc.store.targets import check_own_folder
from pxsgmcmc.tuning.beginning import begin, limits_of, proposer_named, with_kept
from pxsgmcmc.tuning.conclusion import best_config, best_toml, concluded, raise_if_all_diverged
from pxsgmcmc.tuning.space import Asked, flat
from pxsgmcmc.tuning.trial_book import TABLE, TRIALS, TrialBook, as_csv
from pxsgmcmc.tuning.trial_loop import TrialLoop

BEST, PAGE = "best.toml", "tune.html"
# What a problem that is given in Python is sampled with, unless told.
_OWN = """
problem = "my_module:make_problem"
[sampler]
name = "sghmc"
step_size = { kind = "cyclical", peak = "auto" }
friction = "auto"
[chain]
draws = 20
cycle_length = 200
burn_in = 2000
batch_size = 1
start = "map"
"""
_OWN_BATCH = 250


@dataclass(frozen=True)
class TuneOutcome:
    """What came of a search.

    Attributes:
      tuning: every trial, and what was searched; all of `trials.json`.
      folder: with trials.json, trials.csv, best.toml, tune.html and the run directories.
      config: with the chosen settings; None if no trial could be chosen.
      stopped_by: the signal that stopped it, None if it is over.
    """

    tuning: Tuning
    folder: Path
    config: Config | None
    stopped_by: int | None = None

    @property
    def best(self) -> Trial | None:
        """The chosen trial."""
        return self.tuning.best

    @property
    def best_folder(self) -> Path | None:
        """The run directory of the chosen trial, for `px.open`."""
        return None if self.best is None else self.folder / self.best.folder

    def __repr__(self) -> str:
        """One line: the chosen settings and their score."""
        many = f"{len(self.tuning.trials)} trials in {self.folder}"
        if self.best is None or self.best.verdict is None:
            return f"TuneOutcome: {many}, none chosen. {' '.join(self.tuning.notes)}".rstrip()
        values = ", ".join(f"{name} {value:g}" for name, value in self.best.settings.items())
        nll = self.best.scores[-1].nll
        return f"TuneOutcome: {many}; {values}: validation NLL {nll:.4f}, " + (
            self.best.verdict.headline
        )


def tune(
    what: Problem | Config | str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    space: Asked | None = None,
    trials: int | None = None,
    budget: float | None = None,
    search: str = "auto",
    engine: str | Engine = "local",
    at_once: int | None = None,
    out: str | Path = "runs/tune",
    say: Callable[[str], None] | None = None,
) -> TuneOutcome:
    """Search settings on the validation rows; test rows are never read.

    Trials are scored by the NLL of the average of their draws on the validation rows, and one that
    is too hot, has not settled or diverged is not chosen. The search begins at what the pilot
    recommends. Called again with the same arguments, it goes on where it was stopped, however that
    happened; with more `trials` or a larger `budget` it goes on from its end.

    Args:
      what: a configuration (as a struct, as TOML text, or the path of a file), or a problem with
        `validation` and `init`, whose trials run one after the other in this process.
      settings: over the configuration, by name: {"chain.draws": 40}.
      space: setting -> (lowest, highest) to search between, True to search around its value, a
        number to keep it there, False to leave it as it is. Without it step size, friction and the
        variance of the prior are searched.
      trials: how many settings to try; 24 unless a budget is given.
      budget: seconds that the search may take in all.
      search: "tpe" (Optuna's, with trials stopped early), "best-first" (built in, all trials of
        equal length), or "auto" for the first that is installed.
      engine: "local" for processes on this machine, "slurm OPTIONS" or "ray OPTIONS" for
        a cluster (see docs/engines.md), or an engine.
      at_once: trials that run at the same time; as many as there are cores if not given, and 32 on
        a cluster.
      out: folder of the search.
      say: is given sentences for a person; they go to standard error if not given.

    Raises:
      Diverged: if all trials diverged.

    Example: see `docs/tuning.md`.
    """
    for name, table in {"settings": settings, "space": space}.items():
        if not isinstance(table, Mapping | None):
            raise UserError(
                f"`{name}` must be a dictionary by the names of settings, such as "
                f"'prior.variance', got {one_line(table)}."
            )
    say = say if say is not None else _to_standard_error
    problem = what if isinstance(what, Problem) else None
    config = _with_settings(_config_of(what), settings or {}, problem)
    asked = flat(config.tune.space if config.tune is not None else {}) | flat(space or {})
    config = with_kept(replace(config, tune=None), asked)
    limits = limits_of(trials, budget)
    runner = _engine(engine, at_once, problem)
    folder = Path(out)
    made = not folder.exists()
    check_own_folder(folder, "out", "an earlier search", sign=TRIALS)
    with files.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with lock.acquire(folder, say=say):
        try:
            proposer = proposer_named(search, folder, config.seed, say)
            book = begin(folder, config, asked, proposer, limits, problem, say)
        except UserError:
            if made:  # nothing is left of a search that was refused
                shutil.rmtree(folder)
            raise
        loop = TrialLoop(
            book, proposer, runner, limits, at_once=getattr(runner, "at_once", 1), say=say
        )
        stopped_by = loop.run()
        book.tuning = concluded(book.tuning, over=stopped_by is None)
        book.save()
        _write(book, problem is not None, say)
    if stopped_by is None:
        raise_if_all_diverged(book.tuning)
    return TuneOutcome(book.tuning, folder, best_config(book.tuning), stopped_by)


def _to_standard_error(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _config_of(what: Any) -> Config:
    if isinstance(what, Config):
        return what
    if isinstance(what, Problem):
        return parse_config(_OWN)
    if isinstance(what, Path) or (isinstance(what, str) and "\n" not in what):
        return read_config(what)
    if isinstance(what, str):
        return parse_config(what)
    raise UserError(
        f"`tune` needs a px.Problem, a configuration, or the path of one, got {one_line(what)}."
    )


def _with_settings(config: Config, settings: Mapping[str, Any], problem: Problem | None) -> Config:
    if problem is not None:
        if problem.init is None:
            raise UserError("`tune` needs a problem with `init` to start from, got one without.")
        size = min(_OWN_BATCH, len(problem.train.x))
        settings = {"chain.batch_size": size, **settings}
    flags = [f"--{name}={as_toml(value)}" for name, value in settings.items()]
    return parse_config(write_config(config), flags) if flags else config


def _engine(engine: str | Engine, at_once: int | None, problem: Problem | None) -> Engine:
    named = engine_named(engine, at_once) if isinstance(engine, str) else engine
    return named if problem is None else InProcess(problem)


def _write(book: TrialBook, own_problem: bool, say: Callable[[str], None]) -> None:
    """The table of trials, the chosen configuration and the page."""
    tuning, folder = book.tuning, book.folder
    files.write_file(folder / TABLE, as_csv(tuning).encode())
    best = best_toml(tuning, own_problem) if tuning.best is not None else ""
    if best:
        files.write_file(folder / BEST, best.encode())
    else:
        (folder / BEST).unlink(missing_ok=True)
    try:
        from pxsgmcmc.report.tuning_page import write_tuning_page
    except ModuleNotFoundError as error:
        say(f"no page: it needs the package {error.name!r}, pip install 'pxsgmcmc[report]'")
        return
    files.write_file(folder / PAGE, write_tuning_page(tuning, best).encode())
