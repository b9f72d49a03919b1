"""From a run directory that is done to the record that is kept of it."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from pxsgmcmc.chain.code_revision import code_revision
from pxsgmcmc.config import write_config
from pxsgmcmc.evaluate.read_results import read_results
from pxsgmcmc.reproduce import plan
from pxsgmcmc.reproduce.measures import diagnosed_values, values_of
from pxsgmcmc.reproduce.plan import PlannedTask, local_settings
from pxsgmcmc.reproduce.record import Record, rounded
from pxsgmcmc.results import Diagnostics
from pxsgmcmc.run.artifacts import Artifacts
from pxsgmcmc.store import open_run
from pxsgmcmc.store.layout import chain_folders

DIAGNOSTICS = "eval/diagnostics.json"


def record_of(task: PlannedTask, scale: str, command: str, seconds: float) -> Record:
    """What is kept of a run; several chains are judged first, here.

    Args:
      task: whose run is done.
      scale: its name.
      command: that made it.
      seconds: that it took.
    """
    assert task.config is not None
    if task.config.chains > 1:
        _judge_chains(task)
    results = read_results(task.folder)
    values, curves = values_of(results)
    if plan.DIAGNOSE in task.parts:
        data = Artifacts(task.folder).read(DIAGNOSTICS)
        assert data is not None, "diagnosed before"
        more_values, more_curves = diagnosed_values(msgspec.json.decode(data, type=Diagnostics))
        values, curves = values | more_values, curves | more_curves
    values |= _acceptance(task.folder)
    verdict, subject = results.verdict, results.subject
    results_bytes = Artifacts(task.folder).read("results.json") or b""
    return Record(
        **_facts(task, scale, command),
        outcome="done",
        healthy=None if verdict is None else verdict.healthy,
        headline="" if verdict is None else verdict.headline,
        values=rounded(values),
        curves=rounded(curves),
        hashes={
            "train": subject.train_sha256,
            "test": subject.test_sha256,
            "results.json": hashlib.sha256(results_bytes).hexdigest(),
        },
        seconds=round(seconds, 1),
        parts=task.parts,
    )


def _acceptance(folder: Path) -> dict[str, float]:
    """Mean over the draws of all chains, of samplers with a Metropolis test."""
    places = chain_folders(folder) or [folder]
    facts = [draw.facts for place in places for draw in open_run(place).draws]
    rates = [one["acceptance"] for one in facts if one.get("acceptance") is not None]
    return {"chains/acceptance": fmean(rates)} if rates else {}


def diverged_record(task: PlannedTask, scale: str, command: str, sentence: str) -> Record:
    """What is kept of a run that diverged: why."""
    return Record(
        **_facts(task, scale, command),
        outcome="diverged",
        healthy=False,
        headline=f"diverged: {sentence}",
        values={},
        curves={},
        hashes={},
        seconds=0.0,
        parts=task.parts,
    )


def _facts(task: PlannedTask, scale: str, command: str) -> dict[str, Any]:
    assert task.config is not None
    return {
        "scale": scale,
        "method": task.method,
        "digest": task.digest,
        "seed": task.seed,
        "config": _without_folders(write_config(task.config), local_settings(task.arm)),
        "command": command,
        "revision": code_revision(),
    }


def _without_folders(config: str, local: Sequence[str]) -> str:
    """Without paths of this machine, among them those that these settings are."""
    paths = ("root", "folder", *(name.rpartition(".")[2] for name in local))
    starts = tuple(f"{name} = " for name in paths)
    return "\n".join(x for x in config.splitlines() if not x.startswith(starts)) + "\n"


def _judge_chains(task: PlannedTask) -> None:
    from pxsgmcmc.config.evaluate_options import options_of
    from pxsgmcmc.config.opening import open_any

    run = open_any(Path(task.folder))
    if run.read_artifact("results.json") is None:
        run.evaluate(options_of(run))
    if plan.DIAGNOSE in task.parts and run.read_artifact(DIAGNOSTICS) is None:
        run.diagnose()
