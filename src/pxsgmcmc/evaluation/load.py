"""A run directory as something to evaluate: its network, its data, its draws one at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import jax

from pxsgmcmc.chain.record import from_arrays
from pxsgmcmc.config import Config, parse_config, started_from_python
from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluation import artifacts
from pxsgmcmc.evaluation.inputs import check_inputs
from pxsgmcmc.evaluation.subject import subject_of
from pxsgmcmc.expansion import collapse
from pxsgmcmc.experiment import Experiment, wire
from pxsgmcmc.predict import Predictive, StoredDraw, predict
from pxsgmcmc.results import Subject
from pxsgmcmc.store import Run, open_run
from pxsgmcmc.types import Tree


@dataclass(frozen=True)
class Opened:
    """A run, or the several chains of one, with all that was wired from its configuration.

    Attributes:
      path: of the run directory.
      experiment: data, network, energy, sampler; of its `position` the shapes alone.
      runs: the store of each chain.
      subject: what is written about it into results.
      like: the shapes of one draw.
    """

    path: Path
    experiment: Experiment
    runs: tuple[Run, ...]
    subject: Subject
    like: Tree

    def stored(self) -> list[StoredDraw]:
        """Every draw, not read yet: the first of each chain, then the second of each, and so on."""
        chains = [[(run, draw) for draw in run.draws] for run in self.runs]
        turns = (pair for turn in zip_longest(*chains) for pair in turn if pair is not None)
        return [
            StoredDraw(bytes.fromhex(draw.sha256), self._loader(run, draw.number))
            for run, draw in turns
        ]

    def draws(self) -> Iterator[Tree]:
        """Every draw as the network's parameters, in the same order, one in memory at a time."""
        return (draw.load() for draw in self.stored())

    def draws_of(self, chain: int) -> Iterator[Tree]:
        """The draws of one chain, counted from 0."""
        run = self.runs[chain]
        return (self._loader(run, draw.number)() for draw in run.draws)

    def predict(
        self,
        x: Any,
        *,
        batch_size: int = 500,
        report: Callable[[int], None] | None = None,
    ) -> Predictive:
        """What the draws predict together.

        Args:
          x: inputs as the data set stores them: uint8 images, or floats on the same scale.
          batch_size: inputs at a time.
          report: called with the number of draws done, after each.
        """
        check_inputs(x, self.experiment)
        return predict(self.experiment.apply, self.draws(), x, batch_size=batch_size, report=report)

    def write_artifact(self, name: str, data: bytes) -> None:
        """Keep "results.json", "report.html" or "eval/NAME" in the run directory."""
        artifacts.write_artifact(self.path, name, data)

    def _loader(self, run: Run, number: int) -> Callable[[], Tree]:
        what = f"Draw {number} of `{run.path}`"
        return lambda: from_arrays(run.load_draw(number), self.like, what)


def open_experiment(directory: str | Path, settings: list[str] | None = None) -> Opened:
    """Open a run that the command line made, to predict with it or to look into it.

    Args:
      directory: of the run, as given to `pxsgmcmc run --out`; several chains are taken together.
      settings: flags over its `[evaluate]` section, such as ["--evaluate.subset", "500"].

    Raises:
      UserError: if it is not a run, has no draws, or was started from Python.

    Example: see `docs/predict.md`.
    """
    folder = Path(directory)
    places = artifacts.chains_in(folder) or [folder]
    runs = tuple(open_run(place) for place in places)
    config = _config(runs[0], settings)
    if not any(run.draws for run in runs):
        raise UserError(f"`{folder}` has no draws yet: go on with `pxsgmcmc resume {folder}`.")
    experiment = wire(config, shapes=True)
    _check_data(runs[0], experiment)
    like = jax.eval_shape(collapse, experiment.position)
    return Opened(folder, experiment, runs, subject_of(config, runs, experiment, like), like)


def _config(run: Run, settings: list[str] | None) -> Config:
    if started_from_python(run.config):
        raise UserError(
            f"`{run.path}` was started from Python, so its network is not known here: call "
            f"`sample(..., out={str(run.path)!r}, resume=True, apply=...).predict(x)` there."
        )
    for flag in settings or []:
        if flag.startswith("--") and not flag.startswith("--evaluate."):
            raise UserError(
                f"`{flag}` cannot be changed after the run; settings of [evaluate] can, as in "
                "--evaluate.subset 500."
            )
    return parse_config(run.config, settings, name=f"{run.path}/config.toml")


def _check_data(run: Run, experiment: Experiment) -> None:
    data = experiment.dataset
    kept = run.manifest["origin"].get("data", {}).get(data.name)
    if kept not in (None, data.sha256):
        raise UserError(
            f"`data.name` = {data.name!r} now holds other data than `{run.path}` was made from: "
            "its SHA-256 differs; bring back the files it had."
        )
