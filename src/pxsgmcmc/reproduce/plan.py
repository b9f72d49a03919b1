"""From experiments to the runs they need: each made once, whoever asks for it.

A run is known by a digest of all settings that decide its draws, and by its seed. Its directory and
the record that is kept of it are named after both, so that tables share runs, and a run that is
done is not made again. What a run is judged on is settled by all experiments together, asked for or
not: a chain that two tables share is evaluated once, for both.
"""

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pxsgmcmc.config import Config
from pxsgmcmc.config.build import method_name
from pxsgmcmc.config.incidental import deciding
from pxsgmcmc.errors import UserError, did_you_mean
from pxsgmcmc.reproduce.catalogue import all_experiments
from pxsgmcmc.reproduce.experiment import Arm, Experiment, LastDraw, Needed, Times
from pxsgmcmc.reproduce.methods import METHODS
from pxsgmcmc.reproduce.record import Record, read_record
from pxsgmcmc.reproduce.scale import Scale
from pxsgmcmc.reproduce.settings_file import Chosen, settings_of
from pxsgmcmc.store.layout import chain_folder

EVALUATE, STRESS, DIAGNOSE = "evaluate", "stress", "diagnose"
_UNSTRESSED = {
    "evaluate.shifts": (),
    "evaluate.corruptions": False,
    "evaluate.out_of_distribution": (),
}


class PlannedTask(NamedTuple):
    """One run or computation to be made.

    Attributes:
      arm: that asked for it first.
      seed: of everything random.
      digest: of what decides it.
      method: as a run names it, or the function that computes it.
      config: of a run; None for a computation.
      parts: what it is to go through.
      record: where its record is kept.
      folder: its run directory.
      after: the runs that it starts from, which have to be there first.
    """

    arm: Arm
    seed: int
    digest: str
    method: str
    config: Config | None
    parts: tuple[str, ...]
    record: Path
    folder: Path
    after: tuple["PlannedTask", ...] = ()

    @property
    def label(self) -> str:
        """For progress."""
        return f"{self.arm.label}, seed {self.seed}"


class Places(NamedTuple):
    """Where records and run directories are kept."""

    results: Path
    runs: Path


class Planner:
    """Knows the settings of a scale, and which arms share a run.

    Args:
      scale: the size.
      chosen: settings by method.
      places: where records and runs are kept.
      sets: settings of [evaluate] for the sets that the user has.
    """

    def __init__(
        self, scale: Scale, chosen: Mapping[str, Chosen], places: Places, sets: Mapping[str, Any]
    ):
        self.scale, self.chosen, self.places, self._sets = scale, dict(chosen), places, sets
        self._parts: dict[str, set[str]] = {}
        self._digests: dict[str, str] = {}  # by arm: made once for all seeds
        for experiment in all_experiments(scale.name):
            self.know(experiment)

    def know(self, experiment: Experiment) -> None:
        """Take into account what an experiment needs of its runs."""
        for arm in experiment.arms(self.scale):
            if self.has_settings(arm):
                self._parts.setdefault(self.digest(arm), set()).update(_parts_of(experiment))

    def has_settings(self, arm: Arm) -> bool:
        """Whether all settings of an arm are known."""
        return not arm.method or arm.method in self.chosen

    def config(self, arm: Arm, seed: int = 0, parts: Sequence[str] = (STRESS,)) -> Config:
        """The configuration of an arm."""
        settings: dict[str, Any] = {}
        if arm.method:
            settings |= METHODS[arm.method].settings_at(self.scale.name)
            settings |= settings_of(arm.method, self.scale.name, self.chosen).settings
        settings |= self._sets
        settings |= {} if STRESS in parts else _UNSTRESSED
        over = {name: self._resolved(v, settings, seed) for name, v in arm.over.items()}
        settings |= {"seed": seed, "threads": 1, **self._shared_out(settings, over)}
        return self.scale.config(_without_parents(settings))

    def _resolved(self, value: Any, settings: Mapping[str, Any], seed: int) -> Any:
        if isinstance(value, Times):
            return value.factor * settings[value.setting]
        if isinstance(value, LastDraw):
            chains = self.config(value.arm).chains
            return str(chain_folder(self.places.runs / self._name(value.arm), seed % chains))
        return str(value.path) if isinstance(value, Needed) else value

    def _shared_out(self, settings: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
        """What an arm sets itself; members of an ensemble share the steps of one chain."""
        members = over.get("chains", settings.get("chains", 1))
        if members == 1 or "chain.cycle_length" in over:
            return dict(over)
        chain = self.scale.config({"sampler.name": "sgd", "sampler.step_size": 1.0}).chain
        steps = (chain.burn_in + chain.draws * chain.cycle_length) // members
        each = {"chain.draws": 1, "chain.burn_in": 0, "chain.cycle_length": steps}
        return {**each, **over}

    def digest(self, arm: Arm) -> str:
        """Twelve digits that two arms share if they are the same but for their labels."""
        if (key := repr(arm)) not in self._digests:
            self._digests[key] = self._digest(arm)
        return self._digests[key]

    def _digest(self, arm: Arm) -> str:
        if arm.compute:
            decides: Any = {"compute": arm.compute, "scale": self.scale.name, **arm.over}
        else:
            config = self.config(arm)
            decides = {**deciding(msgspec.to_builtins(config)), "chains": config.chains}
            # What they are, not where they are on this machine.
            decides |= {name: self._identity(arm.over[name]) for name in local_settings(arm)}
        text = msgspec.json.encode(decides, order="deterministic")
        return hashlib.sha256(text).hexdigest()[:12]

    def _identity(self, value: Needed | LastDraw) -> str:
        return value.place if isinstance(value, Needed) else self.digest(value.arm)

    def _method(self, arm: Arm) -> str:
        return arm.compute.partition(":")[2] if arm.compute else method_name(self.config(arm))

    def _name(self, arm: Arm, seed: int = 0) -> Path:
        """Of the run of an arm, below the folder of runs or of records."""
        slug = re.sub(r"[^a-z0-9]+", "-", self._method(arm).lower()).strip("-")
        return Path(self.scale.name) / f"{slug}-{self.digest(arm)}" / f"seed-{seed}"

    def task(self, arm: Arm, seed: int) -> PlannedTask:
        """The run of an arm with a seed."""
        digest, name = self.digest(arm), self._name(arm, seed)
        parts = tuple(p for p in (EVALUATE, STRESS, DIAGNOSE) if p in self._parts[digest])
        return PlannedTask(
            arm,
            seed,
            digest,
            self._method(arm),
            None if arm.compute else self.config(arm, seed, parts),
            () if arm.compute else parts,
            self.places.results / name.with_suffix(".json"),
            self.places.runs / name,
            tuple(self.task(v.arm, 0) for v in arm.over.values() if isinstance(v, LastDraw)),
        )

    def tasks(
        self, experiments: Sequence[Experiment], seeds: Sequence[int], only: str | None = None
    ) -> list[PlannedTask]:
        """What the experiments need, seed by seed, each once.

        Args:
          experiments: that are asked for.
          seeds: of every arm.
          only: the label of an arm, or a method, to which all others are left out.
        """
        arms = [arm for one in experiments for arm in one.arms(self.scale)]
        if only is not None:
            names = list(dict.fromkeys(n for arm in arms for n in (arm.label, arm.method) if n))
            if only not in names:
                raise UserError(f"`--only` cannot be {only!r}; {did_you_mean(only, names)}")
            arms = [arm for arm in arms if only in (arm.label, arm.method)]
        tasks: dict[tuple[str, int], PlannedTask] = {}
        for seed in seeds:
            for arm in arms:
                if seed and arm.once:
                    continue
                task = self.task(arm, seed)
                for one in (*task.after, task):
                    tasks.setdefault((one.digest, one.seed), one)
        return list(tasks.values())

    def records(self, arm: Arm) -> list[Record]:
        """What is kept of an arm, by seed."""
        if not self.has_settings(arm):
            return []
        folder = self.task(arm, 0).record.parent
        kept = [read_record(path) for path in sorted(folder.glob("seed-*.json"))]
        return sorted(kept, key=lambda record: record.seed)


def local_settings(arm: Arm) -> list[str]:
    """Names of its settings that are paths on this machine."""
    return [name for name, value in arm.over.items() if isinstance(value, Needed | LastDraw)]


def is_done(task: PlannedTask) -> bool:
    """Whether a record has all that is asked of the task."""
    if not task.record.exists():
        return False
    record = read_record(task.record)
    return record.outcome == "diverged" or set(task.parts) <= set(record.parts)


def command_of(experiment: str, scale: str, seeds: int, only: str | None = None) -> str:
    """The command that makes an experiment."""
    words = ["pxsgmcmc", "reproduce", experiment, "--scale", scale, "--seeds", str(seeds)]
    return shlex.join([*words, *(["--only", only] if only else [])])


def _parts_of(experiment: Experiment) -> set[str]:
    parts = {EVALUATE}
    if experiment.stressed:
        parts.add(STRESS)
    if experiment.diagnosed:
        parts.add(DIAGNOSE)
    return parts


def _without_parents(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without those below one that is a number: a step size of 1e-4 has no peak."""

    def parents(name: str) -> list[str]:
        words = name.split(".")
        return [".".join(words[:n]) for n in range(1, len(words))]

    return {
        name: value
        for name, value in settings.items()
        if not any(parent in settings for parent in parents(name))
    }
