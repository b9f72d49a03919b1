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
from pxsgmcmc.reproduce.experiment import Arm, Experiment, Times
from pxsgmcmc.reproduce.methods import METHODS
from pxsgmcmc.reproduce.record import Record, read_record
from pxsgmcmc.reproduce.scale import Scale
from pxsgmcmc.reproduce.settings_file import Chosen, settings_of

EVALUATE, STRESS, DIAGNOSE = "evaluate", "stress", "diagnose"
_UNSTRESSED = {
    "evaluate.shifts": (),
    "evaluate.corruptions": False,
    "evaluate.out_of_distribution": (),
}


class Task(NamedTuple):
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
    """

    arm: Arm
    seed: int
    digest: str
    method: str
    config: Config | None
    parts: tuple[str, ...]
    record: Path
    folder: Path

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
        for experiment in all_experiments(scale.name):
            self.know(experiment)

    def know(self, experiment: Experiment) -> None:
        """Take into account what an experiment needs of its runs."""
        for arm in experiment.arms(self.scale):
            if arm.compute or arm.method in self.chosen:
                self._parts.setdefault(self.digest(arm), set()).update(_parts_of(experiment))

    def config(self, arm: Arm, seed: int = 0, parts: Sequence[str] = (STRESS,)) -> Config:
        """The configuration of an arm."""
        chosen = settings_of(arm.method, self.scale.name, self.chosen).settings
        settings: dict[str, Any] = {**METHODS[arm.method].settings, **chosen, **self._sets}
        settings |= {} if STRESS in parts else _UNSTRESSED
        over = {
            name: value.factor * settings[value.setting] if isinstance(value, Times) else value
            for name, value in arm.over.items()
        }
        settings |= {"seed": seed, "threads": 1, **self._shared_out(settings, over)}
        return self.scale.config(_without_parents(settings))

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
        if arm.compute:
            decides: Any = {"compute": arm.compute, "scale": self.scale.name, **arm.over}
        else:
            config = self.config(arm)
            decides = {**deciding(msgspec.to_builtins(config)), "chains": config.chains}
        text = msgspec.json.encode(decides, order="deterministic")
        return hashlib.sha256(text).hexdigest()[:12]

    def task(self, arm: Arm, seed: int) -> Task:
        """The run of an arm with a seed."""
        digest = self.digest(arm)
        parts = tuple(p for p in (EVALUATE, STRESS, DIAGNOSE) if p in self._parts[digest])
        config = None if arm.compute else self.config(arm, seed, parts)
        method = arm.compute.partition(":")[2] if config is None else method_name(config)
        slug = re.sub(r"[^a-z0-9]+", "-", method.lower()).strip("-")
        name = Path(self.scale.name) / f"{slug}-{digest}"
        return Task(
            arm,
            seed,
            digest,
            method,
            config,
            () if config is None else parts,
            self.places.results / name / f"seed-{seed}.json",
            self.places.runs / name / f"seed-{seed}",
        )

    def tasks(
        self, experiments: Sequence[Experiment], seeds: Sequence[int], only: str | None = None
    ) -> list[Task]:
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
        tasks: dict[tuple[str, int], Task] = {}
        for seed in seeds:
            for arm in arms:
                task = self.task(arm, seed)
                tasks.setdefault((task.digest, seed), task)
        return list(tasks.values())

    def records(self, arm: Arm) -> list[Record]:
        """What is kept of an arm, by seed."""
        if not arm.compute and arm.method not in self.chosen:
            return []
        folder = self.task(arm, 0).record.parent
        kept = [read_record(path) for path in sorted(folder.glob("seed-*.json"))]
        return sorted(kept, key=lambda record: record.seed)


def is_done(task: Task) -> bool:
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
