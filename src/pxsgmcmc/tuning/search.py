"""A search over settings: every trial is a job, and every outcome is kept in one file at once.

A trial samples and evaluates a run directory of its own, and is scored by the NLL of the average of
all its draws on the validation rows; its process does not have the test rows. Health comes before
the score, unless told: a chain that has not settled or is too hot cannot win while there is a
healthy one. A search that was killed loses no finished trial: it reads the file, finds the run
directories, and goes on.
"""

import functools
import json
import math
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pxsgmcmc.config import Config, write_config
from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.jobs import SAMPLE, VALIDATE, Ended, Engine, Job, JobFailed
from pxsgmcmc.jobs.display import Display
from pxsgmcmc.jobs.engines import is_cluster
from pxsgmcmc.jobs.job import read_validation
from pxsgmcmc.store.files import read_file, write_file
from pxsgmcmc.tuning.best_first import PlannedChain, Rules, neighbours, ranking, replay, settled

_MOST = 1 << 26  # bytes of a file of outcomes
UNHEALTHY = 1e3  # added to the NLL of a chain that is not healthy: more than any healthy one has
_OUTCOME = ("nll", "err", "seconds", "healthy", "verdict")


class Study(NamedTuple):
    """What is searched.

    Attributes:
      configs: method -> name of its configuration.
      rules: how settings are tried.
      load: from the name of a configuration and flags over it to the configuration.
      base: flags over the configurations, for all chains.
      health_first: whether a chain that is not healthy comes after all healthy ones. Trials that
        are too short for any chain to settle are better compared by their scores alone.
    """

    configs: dict[str, str]
    rules: Rules
    load: Callable[[str, list[str]], Config]
    base: tuple[str, ...] = ()
    health_first: bool = True


def settings_of(rules: Rules, chain: PlannedChain) -> dict[str, Any]:
    """The values at the chain's point, by name."""
    axes = rules.axes[chain.method]
    return {axis.name: axis.value(k) for axis, k in zip(axes, chain.point, strict=True)}


def flags_of(rules: Rules, chain: PlannedChain) -> list[str]:
    """The chain's settings and seed as flags of `pxsgmcmc run`."""
    values = settings_of(rules, chain) | {"seed": chain.seed}
    return [word for name, value in values.items() for word in (f"--{name}", repr(value))]


def job_of(study: Study, chain: PlannedChain, folder: Path) -> Job:
    """The job that tries the chain, in a run directory of its own below `folder`."""
    # One thread each, since several trials share the machine.
    flags = [*study.base, "--threads", "1", *flags_of(study.rules, chain)]
    point = "_".join(map(str, chain.point))
    return Job(
        write_config(study.load(study.configs[chain.method], flags)),
        str(folder / chain.method / f"{point}_seed_{chain.seed}"),
        f"{chain.method} {point.replace('_', ' ')}, seed {chain.seed}",
        stages=(SAMPLE, VALIDATE),
    )


class _Row(msgspec.Struct, frozen=True):
    """A trial as it is kept; its settings, which stand beside it for people, are not read."""

    method: str
    point: tuple[int, ...]
    seed: int
    nll: int | float | None
    err: int | float | None
    seconds: int | float
    healthy: bool | None = None
    verdict: str | None = None


class _Kept(msgspec.Struct, frozen=True):
    """The file of a search."""

    design: dict[str, Any]
    trials: list[_Row]


def _read(path: Path) -> _Kept:
    """What is kept in a plain file, or one sentence on what is there instead."""
    try:
        return msgspec.json.decode(read_file(path, at_most=_MOST), type=_Kept)
    except (CorruptRun, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UserError(
            f"`{path}` is not as a search wrote it ({error}): remove it, or choose another place."
        ) from None


class Book:
    """The outcomes, in memory and in a file that is whole at any time.

    Args:
      study: what is searched.
      path: of the file; outcomes in it are taken over.
    """

    def __init__(self, study: Study, path: Path):
        self.study, self.path = study, path
        self.trials: dict[PlannedChain, dict[str, Any]] = {}
        if os.path.lexists(path):
            kept = _read(path)
            if kept.design != self.design:
                raise UserError(
                    f"`{path}` holds a search of another design: remove it, or choose another "
                    "place."
                )
            for row in kept.trials:
                chain = PlannedChain(row.method, row.point, row.seed)
                self.trials[chain] = {name: getattr(row, name) for name in _OUTCOME}

    @functools.cached_property
    def design(self) -> dict[str, Any]:
        """All that an outcome depends on, as JSON has it."""
        methods = {}
        for method, name in self.study.configs.items():
            config = self.study.load(name, list(self.study.base))
            chain = config.chain
            methods[method] = {
                "config": name,
                "data": None if config.data is None else config.data.name,
                "model": msgspec.to_builtins(config.model),
                "expansion": msgspec.to_builtins(config.expansion),
                "start": chain.start,
                "budget": [chain.burn_in, chain.draws, chain.cycle_length, chain.batch_size],
                "axes": [axis._asdict() for axis in self.study.rules.axes[method]],
            }
        rules = {"seeds": self.study.rules.seeds, "most": self.study.rules.most}
        design = {"score": "validation NLL of all draws", "methods": methods, **rules}
        return json.loads(json.dumps(design))

    @property
    def losses(self) -> dict[PlannedChain, float]:
        """What the rules compare by; infinite where a chain diverged."""
        by_health = UNHEALTHY if self.study.health_first else 0.0
        return {chain: _loss(outcome, by_health) for chain, outcome in self.trials.items()}

    def add(self, chain: PlannedChain, outcome: dict[str, Any]) -> str:
        """Keep an outcome; returns a sentence on it and on who leads."""
        self.trials[chain] = {name: outcome.get(name) for name in _OUTCOME}
        self.save()
        lead = ranking(self.losses, chain.method)[0]
        best = settings_of(self.study.rules, chain._replace(point=lead.point))
        score = "diverged" if outcome["nll"] is None else f"validation NLL {outcome['nll']:.4f}"
        score += f", {outcome['verdict']}" if outcome.get("verdict") else ""
        point = ", ".join(f"{v:g}" for v in settings_of(self.study.rules, chain).values())
        return (
            f"{chain.method} at {point}, seed {chain.seed}: {score}; "
            f"{', '.join(f'{v:g}' for v in best.values())} leads over {lead.seeds} seeds"
        )

    def save(self) -> None:
        """Write everything, a trial a line."""
        head = {"design": self.design, "chosen": self.chosen()}
        text = msgspec.json.format(msgspec.json.encode(head), indent=1).decode().removesuffix("\n}")
        rows = [
            {**chain._asdict(), **outcome, "settings": settings_of(self.study.rules, chain)}
            for chain, outcome in sorted(self.trials.items())
        ]
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        write_file(self.path, f'{text},\n "trials": [\n{lines}\n ]\n}}\n'.encode())

    def chosen(self) -> dict[str, Any]:
        """The leading settings of each method, with what speaks for them."""
        rules = self.study.rules
        used, wave = replay(rules, self.losses)
        begun = {chain.method for chain in used}
        for method in rules.axes.keys() - begun:  # searched before others, which have not begun
            used |= replay(rules._replace(axes={method: rules.axes[method]}), self.losses)[0]
        choices = {}
        for method, axes in rules.axes.items():
            if not (standings := ranking(used, method)):
                continue
            best = standings[0].point
            outcomes = [self.trials[chain] for chain in used if chain[:2] == (method, best)]
            points = [standing.point for standing in standings]
            choices[method] = {
                "settings": settings_of(rules, PlannedChain(method, best, 0)),
                "validation_nll": [outcome["nll"] for outcome in outcomes],
                "mean": _mean([outcome["nll"] for outcome in outcomes]),
                "healthy": [outcome["healthy"] for outcome in outcomes],
                "settled": settled(rules, used, method),
                "over": not wave,
                "chains": sum(chain.method == method for chain in used),
                "points": len(points),
                "inside": all(point in points for point in neighbours(axes, best)),
                "tried": {
                    axis.name: sorted({axis.value(point[i]) for point in points})
                    for i, axis in enumerate(axes)
                },
            }
        return choices


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if len(known) == len(values) else None


def _loss(outcome: Mapping[str, Any], unhealthy: float) -> float:
    if outcome["nll"] is None:
        return math.inf
    return outcome["nll"] + unhealthy * (outcome["healthy"] is False)


def validation_score(job: Job) -> dict[str, Any]:
    """NLL and error on the validation rows, of all draws of a job that is done, and its health."""
    found = read_validation(job.folder)
    scores = {name: found.metrics.get(name) for name in ("nll", "err")}
    return {**scores, "healthy": found.verdict.healthy, "verdict": found.verdict.headline}


def search(
    book: Book,
    engine: Engine,
    folder: Path,
    score: Callable[[Job], dict[str, Any]] = validation_score,
    methods: Sequence[str] | None = None,
) -> int | None:
    """Try what the rules ask for until they ask no more.

    Args:
      book: what is searched, the outcomes known already, and those to come.
      engine: that runs the trials.
      folder: of their run directories.
      score: from a job that is done to its "nll", "err" and health.
      methods: only these; all if not given.

    Returns:
      The number of the signal that stopped it, None if the search is over.
    """
    every = book.study.rules
    chosen = every.axes if methods is None else {name: every.axes[name] for name in methods}
    rules = every._replace(axes=chosen)
    while wave := replay(rules, book.losses)[1]:
        chains = {job_of(book.study, chain, folder): chain for chain in wave}

        def on_end(job: Job, ended: Ended, chains=chains) -> str | None:
            if ended.code >= 128:
                return None
            if ended.failed:
                raise JobFailed(job, ended).as_error()
            scores = score(job) if ended.code == 0 else {"nll": None, "err": None}
            return book.add(chains[job], {**scores, "seconds": round(ended.seconds, 1)})

        shown = Display("search", list(chains), on_end, seconds=60.0, elsewhere=is_cluster(engine))
        with closing(shown) as display:
            todo = display.todo
            for job in chains.keys() - set(todo):  # done, and killed before it was written down
                display.ended(job, Ended(0))
            stopped_by = engine.run(todo, display)
        if stopped_by is not None:
            return stopped_by
    return None
