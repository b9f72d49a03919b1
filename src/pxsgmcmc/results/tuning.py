"""A search over settings: what was searched, every trial, and what came of it."""

# pyright: reportGeneralTypeIssues=false
# (It does not know that a struct inherits `frozen`.)

from typing import Literal

import msgspec

from pxsgmcmc.results.part import Part, Verdict


class SearchRange(Part):
    """One setting that is searched.

    Attributes:
      name: as a flag of `pxsgmcmc run` has it, "prior.variance".
      low: the smallest value that is tried now.
      high: the largest.
      start: where the search began.
      whole: whether it takes whole numbers only.
      first: the range before it was widened.
    """

    name: str
    low: float
    high: float
    start: float
    whole: bool
    first: tuple[float, float]

    @property
    def log(self) -> bool:
        """Whether it is searched by its logarithm: all that cannot be zero is."""
        return self.low > 0.0


class TrialScore(Part):
    """How a trial did with so many draws.

    Attributes:
      draws: kept so far.
      nll: of their average on the validation rows; None if it is not finite.
      too_hot: by how much the worst temperature is beyond its limit, see `Validation`.
      unsettled: likewise for the R-hat of the energy.
      seconds: that the trial took up to here.
    """

    draws: int
    nll: float | None
    too_hot: float | None
    unsettled: float | None
    seconds: float

    @property
    def is_cool(self) -> bool:
        """Whether there is a score, and no temperature that is off."""
        return self.nll is not None and (self.too_hot is None or self.too_hot <= 0.0)

    @property
    def is_fit(self) -> bool:
        """Whether it could win: at its temperature, and settled as far as can be told."""
        return self.is_cool and (self.unsettled is None or self.unsettled <= 0.0)


class Trial(Part):
    """Settings that were tried.

    Attributes:
      number: from 0.
      settings: name -> value.
      origin: who proposed it: "pilot", "as configured", "tpe", "best-first".
      folder: its run directory, below that of the search.
      wanted: how many scores it is to have by now; one more each time it is extended.
      scores: one for each length it was run to.
      diverged: whether its chain diverged, so that there are no more scores.
      verdict: of the last score.
    """

    number: int
    settings: dict[str, float]
    origin: str
    folder: str
    wanted: int = 1
    scores: list[TrialScore] = msgspec.field(default_factory=list)
    diverged: bool = False
    verdict: Verdict | None = None

    @property
    def open(self) -> bool:
        """Whether a score that it is to have is missing."""
        return not self.diverged and len(self.scores) < self.wanted

    @property
    def seconds(self) -> float:
        """What it took so far."""
        return self.scores[-1].seconds if self.scores else 0.0


class Tuning(Part):
    """All of `trials.json`.

    Attributes:
      config: the configuration that is tuned, as TOML.
      asked: the ranges that were given, as text.
      search: "tpe" or "best-first".
      lengths: draws at which trials are compared; the last is a whole run.
      ranges: what is searched.
      start_config: the configuration with numbers for everything, that trials change.
      start: where these numbers come from, in a sentence.
      stable_to: the step size from which the pilot predicts instability; None if not known.
      seconds_per_step: measured before the first trial.
      trials: in the order in which they were proposed.
      seconds: that the search took so far.
      chosen: number of the best healthy trial of full length, None if there is none yet.
      mattered: name -> share of the variance of first scores that goes with it.
      mattered_by: "fANOVA", or "thirds" for the variance between thirds of the tried values.
      notes: sentences on the outcome.
      starts: settings to try first, by where they come from.
      method: as tables call it.
      data: likewise.
      model: likewise.
    """

    config: str
    asked: str
    search: str
    lengths: list[int]
    ranges: list[SearchRange]
    start_config: str
    start: str
    stable_to: float | None
    seconds_per_step: float
    trials: list[Trial] = msgspec.field(default_factory=list)
    seconds: float = 0.0
    chosen: int | None = None
    mattered: dict[str, float] = msgspec.field(default_factory=dict)
    mattered_by: str = ""
    notes: list[str] = msgspec.field(default_factory=list)
    starts: dict[str, dict[str, float]] = msgspec.field(default_factory=dict)
    method: str = ""
    data: str = ""
    model: str = ""
    format: Literal[1] = 1

    @property
    def best(self) -> Trial | None:
        """The chosen trial."""
        return None if self.chosen is None else self.trials[self.chosen]

    def is_whole(self, trial: Trial) -> bool:
        """Whether a trial has all its draws."""
        return len(trial.scores) == len(self.lengths) and not trial.diverged

    def state_of(self, trial: Trial) -> str:
        """What became of a trial, in two words."""
        if trial.diverged:
            return "diverged"
        if not trial.scores or trial.open:
            return "running"
        last = trial.scores[-1]
        if last.nll is None:
            return "no score"
        if not last.is_cool:
            return "off temperature"
        if not self.is_whole(trial):
            return "stopped early"
        return "whole" if last.is_fit else "not settled"
