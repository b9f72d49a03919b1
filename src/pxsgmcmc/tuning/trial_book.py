"""The trials of a search in one file that is whole at any time, and as a table."""

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.results import Trial, TrialScore, Tuning, Verdict, write
from pxsgmcmc.store.files import read_file, write_file

TRIALS, TABLE = "trials.json", "trials.csv"
_MOST = 1 << 28  # bytes of the file
_SAME = {"config": "configuration", "asked": "space", "search": "kind of search"}


class TrialBook:
    """What is known of a search; every change is on the disk before anything else happens.

    Args:
      folder: of the search.
      tuning: all of it.
    """

    def __init__(self, folder: Path, tuning: Tuning):
        self.folder, self.tuning = folder, tuning

    @classmethod
    def read(cls, folder: Path) -> "TrialBook | None":
        """The search in a folder, None if there is none."""
        path = folder / TRIALS
        if not path.exists():
            return None
        try:
            data = read_file(path, at_most=_MOST)
            return cls(folder, msgspec.json.decode(data, type=Tuning))
        except msgspec.MsgspecError as error:
            raise CorruptRun(f"`{path}` is not as a search wrote it: {error}.") from error

    def check_same(self, **asked: str) -> None:
        """Refuse to go on with another search: by the fields of `Tuning` that decide it."""
        for name, value in asked.items():
            if getattr(self.tuning, name) != value:
                raise UserError(
                    f"`{self.folder}` holds a search with another {_SAME[name]}: choose another "
                    "folder with --out, or give the command it began with."
                )

    def save(self, **changes: Any) -> None:
        """Change it, and write it down."""
        self.tuning = replace(self.tuning, **changes)
        write_file(self.folder / TRIALS, write(self.tuning))

    def plan(self, extended: Iterable[int], fresh: Iterable[tuple[str, Mapping[str, float]]]):
        """Note what is to be run: trials that go on, and new ones by who proposed them."""
        longer = set(extended)
        trials = [
            replace(trial, wanted=trial.wanted + (trial.number in longer))
            for trial in self.tuning.trials
        ]
        for origin, settings in fresh:
            number = len(trials)
            folder = f"trials/{number:04d}"
            trials.append(
                Trial(number=number, settings=dict(settings), origin=origin, folder=folder)
            )
        self.save(trials=trials)

    def add_score(self, number: int, score: TrialScore, verdict: Verdict, seconds: float) -> None:
        """A trial was run to its next length; the search took so many seconds by now."""
        trial = self.tuning.trials[number]
        self._put(replace(trial, scores=[*trial.scores, score], verdict=verdict), seconds)

    def add_divergence(self, number: int, sentence: str, seconds: float) -> None:
        """A trial diverged."""
        verdict = Verdict(healthy=False, headline="diverged", warnings=[sentence] * bool(sentence))
        self._put(replace(self.tuning.trials[number], diverged=True, verdict=verdict), seconds)

    def _put(self, trial: Trial, seconds: float) -> None:
        trials = [*self.tuning.trials]
        trials[trial.number] = trial
        self.save(trials=trials, seconds=seconds)


def as_csv(tuning: Tuning) -> str:
    """A line for each trial."""
    names = [place.name for place in tuning.ranges]
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(
        ["trial", "origin", *names, "state", "draws", "validation_nll", "seconds", "verdict"]
    )
    for trial in tuning.trials:
        last = trial.scores[-1] if trial.scores else None
        table.writerow(
            [
                *(trial.number, trial.origin, *(trial.settings[name] for name in names)),
                *(tuning.state_of(trial), last.draws if last else 0),
                *("" if last is None or last.nll is None else last.nll, round(trial.seconds, 1)),
                trial.verdict.headline if trial.verdict else "",
            ]
        )
    return text.getvalue()
