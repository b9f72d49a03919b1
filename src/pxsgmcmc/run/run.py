"""A run: the draws of one or several chains, and all that can be done with them."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

from pxsgmcmc.errors import UserError
from pxsgmcmc.predict import StoredDraw, predict
from pxsgmcmc.predict.output_cache import digest_of
from pxsgmcmc.problem import Problem
from pxsgmcmc.progress import Progress, Show, progress_for
from pxsgmcmc.results import Diagnostics, Results, Verdict
from pxsgmcmc.run.arrays import RunArrays
from pxsgmcmc.run.artifacts import Artifacts
from pxsgmcmc.run.delegated import DelegatedMethods
from pxsgmcmc.run.health import verdict_on
from pxsgmcmc.run.journals import log_of, saved_states, worst_status
from pxsgmcmc.run.places import DrawPlace, NoSuchDraw, after_first, chosen, in_turns, one_of
from pxsgmcmc.run.representation import html_of, summary_of
from pxsgmcmc.tree import from_arrays, nested
from pxsgmcmc.types import Batch, Sampler, Tree

if TYPE_CHECKING:
    from pxsgmcmc.evaluate.options import DiagnoseOptions, EvaluateOptions


class Run(RunArrays, DelegatedMethods):
    """Draws, collapsed to the model's own parameters: `run[0]` is the first, `run[10:]` a part.

    Draws of several chains come in turns: the first of each chain, then the second of each. Draws
    in a directory are read when asked for, one at a time.

    Attributes:
      problem: what was sampled; None if that is not known here.
      path: of the run directory, None for a run kept in memory.
      sampler: what made the draws; None for a run that was opened without saying.
      stopped_by: the signal that stopped it, None otherwise.
      skipped: draws left out at the start of each chain, by `skip`.
    """

    def __init__(
        self,
        records: Sequence[Any],
        problem: Problem | None,
        like: Tree | None,
        *,
        path: Path | None = None,
        sampler: Sampler | None = None,
        states: Sequence[Any] = (),
        state_like: Any = None,
        stopped_by: int | None = None,
    ):
        self._records, self._like = list(records), like
        self.problem, self.path, self.sampler = problem, path, sampler
        self.stopped_by, self.skipped = stopped_by, 0
        self._states, self._state_like = list(states), state_like
        self._places = in_turns(records)
        self._artifacts: Artifacts | None = Artifacts(path)

    def __len__(self) -> int:
        """How many draws there are, of all chains together."""
        return len(self._places)

    def __getitem__(self, index: int | slice) -> Any:
        """One draw as the model's parameters, or a run of some of the draws."""
        if isinstance(index, slice):
            return self._view(chosen(self._places, index))
        return self._load(one_of(self._places, index))

    def __iter__(self) -> Iterator[Tree]:
        """Every draw in order."""
        return (self._load(place) for place in self._places)

    @property
    def chains(self) -> int:
        """How many chains there are."""
        return len(self._records)

    def chain(self, number: int) -> "Run":
        """The draws of one chain, from 0."""
        if not 0 <= number < self.chains:
            raise NoSuchDraw(f"`chain` must be from 0 to {self.chains - 1}, got {number!r}.")
        record = self._records[number]
        one = Run(
            [record],
            self.problem,
            self._like,
            path=record.path,
            sampler=self.sampler,
            states=self._states[number : number + 1],
            state_like=self._state_like,
        )
        one._places = [
            DrawPlace(0, place.number) for place in self._places if place.chain == number
        ]
        return one if len(one) == len(record.draws) else one._without_artifacts()

    def skip(self, draws: int) -> "Run":
        """Without the first so many draws of each chain: burn-in, in draws."""
        places = after_first(self._places, draws)
        view = self._copied(places)
        view.skipped = max(draws, self.skipped)
        return view

    def judged_on(self, test: Batch) -> "Run":
        """The same draws with other test rows (x, y); results stay with it, in memory."""
        view = self._copied(self._places)
        view.problem = replace(self.need_problem("judged_on"), test=test)
        view._artifacts = Artifacts(None)
        return view

    def _without_artifacts(self) -> "Run":
        """A part of a run has results of its own, which are not kept with the whole."""
        self._artifacts = None
        return self

    def _view(self, places: Sequence[DrawPlace]) -> "Run":
        return self._copied(places)._without_artifacts()

    def _copied(self, places: Sequence[DrawPlace]) -> "Run":
        view = copy(self)
        view.__dict__.pop("verdict", None)
        view._places = list(places)
        return view

    def _load(self, place: DrawPlace) -> Tree:
        record = self._records[place.chain]
        arrays = record.load_draw(place.number)
        if self._like is None:
            return nested(arrays)
        of = f" of `{record.path}`" if record.path is not None else ""
        return from_arrays(arrays, self._like, f"Draw {place.number}{of}")

    @property
    def like(self) -> Tree:
        """The shapes of a draw."""
        return jax.eval_shape(lambda: self[0]) if self._like is None else self._like

    @property
    def records(self) -> list[Any]:
        """The store of each chain."""
        return self._records

    def last_states(self) -> list[Any]:
        """Of the sampler, one a chain; empty if it is not known what they look like."""
        if self._states or self._state_like is None:
            return self._states
        return saved_states(self._records, self._state_like)

    def draws_of(self, chain: int) -> Iterator[Tree]:
        """The chosen draws of one chain, one in memory at a time."""
        return (self._load(place) for place in self._places if place.chain == chain)

    def stored(self) -> list[StoredDraw]:
        """Every draw, not read yet, with what identifies it."""
        return [StoredDraw(self._digest(place), self._loader(place)) for place in self._places]

    def _digest(self, place: DrawPlace) -> bytes:
        known = self._records[place.chain].draws[place.number - 1].sha256
        return bytes.fromhex(known) if known else digest_of(self._load(place))

    def _loader(self, place: DrawPlace) -> Callable[[], Tree]:
        return lambda: self._load(place)

    def index(self, chain: int) -> list[Any]:
        """What is known of each chosen draw of one chain without reading it: step, energy, ..."""
        record = self._records[chain]
        return [record.draws[place.number - 1] for place in self._places if place.chain == chain]

    @property
    def log(self) -> list[dict[str, Any]]:
        """The lines of the log: step, energy, step size, temperatures by group, speed, chain."""
        return log_of(self._records)

    @property
    def origin(self) -> dict[str, Any]:
        """How the run was made, as its manifest has it."""
        return self._records[0].manifest["origin"]

    @property
    def status(self) -> str:
        """That of the chain that is worst off: diverged, interrupted, running or done."""
        return worst_status(self._records)

    @cached_property
    def verdict(self) -> Verdict:
        """Whether to believe it: temperatures, energies, and what was diagnosed of these draws."""
        return verdict_on(self)

    @property
    def summary(self) -> str:
        """One line on what it is."""
        return summary_of(self)

    def predict(self, x: Any, *, batch_size: int = 1000, progress: Show = False) -> Any:
        """What the draws predict together for new inputs.

        Args:
          x: inputs as the problem's training data have them, (rows, ...).
          batch_size: inputs at a time on the device.
          progress: show it.

        Returns:
          For classes, `probabilities` and the entropy with its two parts; for numbers, `mean`,
          `std`, `quantile(q)`, `interval(coverage)` and the two parts of the variance.
        """
        problem = self.need_problem("predict")
        shown = progress_for("predict", progress)

        def report(done: int) -> None:
            shown.tell(done / len(self), f"draw {done}/{len(self)}")

        try:
            return predict(problem, self, x, batch_size=batch_size, report=report)
        finally:
            shown.close()

    def evaluate(
        self,
        options: "EvaluateOptions | None" = None,
        *,
        outputs: str | Path | None = None,
        progress: Show | Progress = False,
    ) -> Results:
        """How good its predictions are, on every set of its problem; kept with the run.

        Args:
          options: corruptions, subsets for telling sets apart, batch size.
          outputs: folder to keep what every draw says in; only new draws are evaluated next time.
          progress: show it; "plain" for lines even on a terminal; or who is told.
        """
        from pxsgmcmc.evaluate.evaluate import evaluate

        return evaluate(self, options=options, outputs=outputs, progress=progress)

    def diagnose(
        self, options: "DiagnoseOptions | None" = None, *, progress: Show | Progress = False
    ) -> Diagnostics:
        """Whether to believe it: movement, convergence, temperatures, landscape; kept with the run.

        Args:
          options: how many rows, lines and points to look at.
          progress: show it; "plain" for lines even on a terminal; or who is told.
        """
        from pxsgmcmc.evaluate.diagnose import diagnose

        return diagnose(self, options=options, progress=progress)

    def need_problem(self, what: str) -> Problem:
        """The problem, or a sentence on how to say which it is."""
        if self.problem is None:
            where = f"px.open({str(self.path)!r}, problem=...)" if self.path else "`px.sample`"
            raise UserError(
                f"`{what}` needs to know the problem (network, likelihood and data): give a "
                f"`px.Problem` to {where}, on the command line `--problem my_module:make_problem`."
            )
        return self.problem

    def check_writable(self) -> None:
        """Raise `UserError` if results could not be kept, before long work and not after."""
        if self._artifacts is not None:
            self._artifacts.check_writable()

    def write_artifact(self, name: str, data: bytes) -> None:
        """Keep "results.json", "report.html" or "eval/NAME" with the run, unless it is a slice."""
        if self._artifacts is not None:
            self._artifacts.write(name, data)
            self.__dict__.pop("verdict", None)  # a diagnosis may have changed it

    def read_artifact(self, name: str) -> bytes | None:
        """A result that was kept, None if there is none."""
        return None if self._artifacts is None else self._artifacts.read(name)

    def __repr__(self) -> str:
        """What it is, and whether to believe it."""
        return f"Run: {self.summary}, {self.status}; {self.verdict.headline}"

    def _repr_html_(self) -> str:
        """For notebooks."""
        return html_of(self)
