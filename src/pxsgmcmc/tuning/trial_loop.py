"""The search itself: waves of jobs, each planned from what is known and written down first."""

import math
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from pxsgmcmc.config import Config, parse_config, write_config
from pxsgmcmc.jobs import SAMPLE, VALIDATE, Ended, Engine, Job, JobFailed
from pxsgmcmc.jobs.display import Display
from pxsgmcmc.jobs.engines import is_cluster
from pxsgmcmc.jobs.job import read_validation
from pxsgmcmc.results import Trial, TrialScore, Tuning, Validation
from pxsgmcmc.tuning.halving import last_resort, leader, promotions, winner
from pxsgmcmc.tuning.proposals import Proposer
from pxsgmcmc.tuning.space import at_edge, widened, with_values
from pxsgmcmc.tuning.trial_book import TrialBook

WAVE = 4  # trials at a time, or as many as run at once; what is proposed depends on it
STARTING = 10.0  # seconds that a job takes before its first step, unless measured


class Limits(NamedTuple):
    """When a search is over: after so many trials, or so many seconds."""

    trials: int
    seconds: float = math.inf


class TrialLoop:
    """Runs a search to its end.

    Args:
      book: what is known.
      proposer: who says what to try.
      engine: that runs the trials, some at the same time.
      limits: when it is over.
      at_once: how many that is.
      say: is given sentences that a person should read.
      read: from the folder of a job that is done to what it found out.
      clock: in seconds.
    """

    def __init__(
        self,
        book: TrialBook,
        proposer: Proposer,
        engine: Engine,
        limits: Limits,
        *,
        at_once: int,
        say: Callable[[str], None],
        read: Callable[[str], Validation] = read_validation,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.book, self.proposer, self.engine, self.limits = book, proposer, engine, limits
        self._at_once, self._say, self._read, self._clock = at_once, say, read, clock
        self._config = parse_config(book.tuning.start_config)

    def run(self) -> int | None:
        """Plan and run waves; returns the signal that stopped it, None if the search is over."""
        while self._plan():
            if (stopped_by := self._run_wave()) is not None:
                return stopped_by
        return None

    def _plan(self) -> bool:
        """Write down what is to be run next; False if that is nothing."""
        tuning = self.book.tuning
        if any(trial.open for trial in tuning.trials):  # of a wave that was interrupted
            return True
        longer = promotions(tuning.trials, tuning.lengths)
        room = max(WAVE, self._at_once) - len(longer)
        many = max(0, min(room, self.limits.trials - len(tuning.trials)))
        longer, many = self._affordable(longer, many)
        fresh = self._fresh(many) if many else []
        if not longer and not fresh:
            longer = last_resort(tuning.trials, tuning.lengths)
        self.book.plan(longer, fresh)
        return bool(longer or fresh)

    def _fresh(self, many: int) -> list[tuple[str, dict[str, float]]]:
        """New settings: where the search starts, then what the proposer says."""
        tuning = self.book.tuning
        if not tuning.trials and tuning.starts:
            return list(tuning.starts.items())[:many]
        if self.proposer.halving:
            self._widen()
        proposals = self.proposer.propose(self.book.tuning, many, self.limits.trials)
        return [(self.proposer.name, settings) for settings in proposals]

    def _widen(self) -> None:
        """Make room where the best trial so far lies at an edge."""
        tuning = self.book.tuning
        best = leader(tuning.trials, tuning.lengths)
        if best is None:
            return
        ranges = []
        for place in tuning.ranges:
            value = best.settings[place.name]
            edge = at_edge(place, value)
            wider = widened(self._config, place, edge) if edge else place
            if wider != place:
                self._say(
                    f"{place.name} = {value:g} of the best trial lies at the {edge} edge of its "
                    f"range: widened to {wider.low:.3g} to {wider.high:.3g}"
                )
            ranges.append(wider)
        self.book.save(ranges=ranges)

    def _affordable(self, longer: list[int], many: int) -> tuple[list[int], int]:
        """As much of a wave as there is time for, with what it takes to finish the best trial."""
        tuning = self.book.tuning
        left = self.limits.seconds - tuning.seconds
        if math.isinf(left) or not tuning.trials:
            return longer, many
        left -= self._seconds_to_finish(winner(tuning.trials, tuning.lengths))
        spent, affordable = 0.0, []
        for number in longer:
            spent += self._seconds(tuning.trials[number], tuning.trials[number].wanted)
            affordable += [number] * (spent <= self._at_once * left)
        one = self._seconds(None, 0)
        return affordable, max(0, min(many, int((self._at_once * left - spent) // one)))

    def _seconds_to_finish(self, won: Trial | None) -> float:
        """What the best trial still needs to its full length; nothing if one has won."""
        tuning = self.book.tuning
        best = leader(tuning.trials, tuning.lengths)
        if won is not None or best is None:
            return 0.0
        return sum(self._seconds(best, k) for k in range(len(best.scores), len(tuning.lengths)))

    def _seconds(self, trial: Trial | None, place: int) -> float:
        """About what it takes to bring a trial, or a new one, to a length from the one before."""
        tuning, config = self.book.tuning, self._config
        scored = [t.scores[0] for t in tuning.trials if t.scores]
        first = steps_of(config, tuning.lengths[0])
        pace, start = tuning.seconds_per_step, STARTING
        if scored:  # the start of a process included
            pace, start = statistics.median(s.seconds for s in scored) / first, 0.0
        if trial is None or place == 0:
            return start + pace * first
        settings = with_values(config, trial.settings)
        added = tuning.lengths[place] - tuning.lengths[place - 1]
        return start + pace * added * settings.chain.cycle_length

    def _run_wave(self) -> int | None:
        tuning = self.book.tuning
        began = self._clock() - tuning.seconds
        jobs = {
            trial_job(self._config, tuning, trial, self.book.folder): trial.number
            for trial in tuning.trials
            if trial.open
        }

        def on_end(job: Job, ended: Ended) -> str | None:
            if ended.code >= 128:
                return None
            if ended.failed:
                raise JobFailed(job, ended).as_error()
            return self._note(jobs[job], job, ended, self._clock() - began)

        whole = f"tune, {len(tuning.trials)} of {self.limits.trials} trials"
        title = whole if math.isinf(self.limits.seconds) else f"tune, {len(tuning.trials)} trials"
        shown = Display(title, list(jobs), on_end, seconds=60.0, elsewhere=is_cluster(self.engine))
        with closing(shown) as display:
            todo = display.todo
            for job in jobs.keys() - set(todo):  # done, and killed before it was written down
                display.ended(job, Ended(0))
            return self.engine.run(todo, display)

    def _note(self, number: int, job: Job, ended: Ended, seconds: float) -> str:
        """Write down how a trial went; returns a sentence on it."""
        trial, tuning = self.book.tuning.trials[number], self.book.tuning
        values = ", ".join(f"{name} {value:g}" for name, value in trial.settings.items())
        if ended.diverged:
            self.book.add_divergence(number, ended.sentence, seconds)
            return f"trial {number} ({values}): diverged"
        found = self._read(job.folder)
        score = TrialScore(
            draws=found.subject.draws,
            nll=found.metrics.get("nll"),
            too_hot=found.too_hot,
            unsettled=found.unsettled,
            seconds=round(trial.seconds + ended.seconds, 1),
        )
        self.book.add_score(number, score, found.verdict, seconds)
        nll = "not finite" if score.nll is None else f"{score.nll:.4f}"
        return (
            f"trial {number} ({values}): validation NLL {nll} of {score.draws} of "
            f"{tuning.lengths[-1]} draws; {found.verdict.headline}"
        )


def steps_of(config: Config, draws: int) -> int:
    """Steps of a chain up to so many draws."""
    return config.chain.burn_in + draws * config.chain.cycle_length


def trial_job(config: Config, tuning: Tuning, trial: Trial, folder: Path) -> Job:
    """The job that brings a trial to the length it is to have."""
    settings = with_values(config, trial.settings)
    # One chain and one thread each, since several trials share the machine.
    settings = replace(settings, chains=1, threads=1)
    return Job(
        write_config(settings),
        str(folder / trial.folder),
        f"trial {trial.number}",
        draws=tuning.lengths[trial.wanted - 1],
        stages=(SAMPLE, VALIDATE),
    )
