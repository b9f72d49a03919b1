"""What was run and on what, in a few sentences and facts."""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from pxsgmcmc.report.formatting import (
    count,
    duration,
    listed,
    metric_title,
    metric_value,
    percent,
    plain,
    with_spread,
)
from pxsgmcmc.report.reported import Reported, ShownMethod
from pxsgmcmc.results import Subject


class Tile(NamedTuple):
    """One number that stands out."""

    name: str
    value: str
    about: str
    spread: str = ""  # of one draw alone, mean ± standard deviation over draws


_TILES = {
    "classification": {
        "err": "of the test data are misclassified",
        "nll": "mean negative log-probability of the right class",
        "ece": "between how sure it is and how often it is right",
    },
    "regression": {
        "rmse": "error of the predictive mean on test data, in the target's unit",
        "nll": "mean negative log-density of what was observed",
        "crps": "error of the whole predictive distribution, in the target's unit",
        "coverage90": "of observed values lie within the 90% intervals",
    },
    "custom": {"nll": "mean negative log-probability of what was observed"},
}


def heading(methods: Sequence[ShownMethod]) -> str:
    """The title of the page."""
    on = _on_data(methods[0].runs[0].results.subject)
    if len(methods) <= 3:
        return f"{listed([method.name for method in methods])}{on}"
    return f"{len(methods)} methods{on}"


def _on_data(subject: Subject) -> str:
    """On what, if it has a name: arrays handed over in Python have none."""
    return "" if subject.data == "data" else f" on {plain(subject.data, 60)}"


def _posterior(subject: Subject) -> str:
    """Of which network on what, as far as they have names."""
    name = "" if subject.model == "network" else f" ({plain(subject.model)})"
    return f"the posterior of a network{name}{_on_data(subject)}"


def sentences(methods: Sequence[ShownMethod]) -> str:
    """What was done, and what came of it."""
    if len(methods) > 1 or len(methods[0].runs) > 1:
        return _of_many(methods)
    evaluation = methods[0].runs[0].results
    subject, metrics = evaluation.subject, evaluation.test.metrics
    chains = f" by {count(subject.chains, 'chain')}" if subject.chains > 1 else ""
    parts = [
        f"{count(subject.draws, 'draw')}{chains} from {_posterior(subject)}, "
        f"{count(subject.steps, 'step')}{' a chain' if chains else ' in all'}."
    ]
    alone = {name: fmean(values) for name, values in evaluation.test.by_draw.items() if values}
    if "err" in metrics:
        parts.append(
            f"Averaged, they get {percent(metrics['err'])} of {evaluation.test.rows:,} "
            "test rows wrong"
        )
        share = alone.get("err")
        parts[-1] += (
            "." if share is None else f"; one alone gets {percent(share)} wrong on average."
        )
    elif "rmse" in metrics:
        error = metric_value("rmse", metrics["rmse"])
        parts.append(f"Averaged, they miss {evaluation.test.rows:,} test rows by {error} (RMSE)")
        error = metric_value("rmse", alone.get("rmse"))
        parts[-1] += f"; one alone by {error} on average." if "rmse" in alone else "."
    return " ".join(parts)


def _of_many(methods: Sequence[ShownMethod]) -> str:
    subject = methods[0].runs[0].results.subject
    several = any(len(method.runs) > 1 for method in methods)
    seeds = "; thin lines are single seeds, bold lines their mean" if several else ""
    runs = [f"{method.name} ({count(len(method.runs), 'seed')})" for method in methods]
    return f"Draws from {_posterior(subject)} by {listed(runs)}. Each colour is a method{seeds}."


def tiles(run: Reported) -> list[Tile]:
    """The numbers most readers came for."""
    evaluation = run.results
    shown = [
        Tile(
            metric_title(name),
            metric_value(name, evaluation.test.metrics[name]),
            about,
            _over_draws(name, evaluation.test.by_draw.get(name, [])),
        )
        for name, about in _TILES.get(evaluation.task, {}).items()
        if name in evaluation.test.metrics
    ]
    areas = [
        d.metrics["auroc"] for d in evaluation.out_of_distribution.values() if "auroc" in d.metrics
    ]
    if areas:
        about = f"for telling other data apart, mean of {count(len(areas), 'set')}"
        shown.append(Tile("AUROC", metric_value("auroc", fmean(areas)), about))
    return shown


def _over_draws(name: str, values: Sequence[float]) -> str:
    if len(values) < 2:
        return ""
    return with_spread(name, fmean(values), stdev(values))


def facts(run: Reported) -> dict[str, str]:
    """What was run, name -> words."""
    subject, manifest = run.results.subject, run.manifest
    origin = manifest.get("origin", {})
    versions = origin.get("versions", {})
    moved = f"{subject.parameters:,}"
    if subject.sampled != subject.parameters:
        moved += f", sampled through {subject.sampled:,} coordinates"
    texts = {
        "Method": plain(subject.method),
        "Data": plain(subject.data) if subject.data != "data" else "arrays",
        "Network": plain(subject.model) if subject.model != "network" else "",
        "Parameters": moved,
        "Draws": f"{subject.draws:,} from {count(subject.chains, 'chain')}",
        "Steps": f"{subject.steps:,} a chain",
        "Seed": str(subject.seed),
        "Time": _time(run),
        "Status": plain(str(manifest.get("status", ""))),
        "Machine": plain(str(origin.get("rounding", {}).get("devices", ""))),
        "Made by": plain(
            f"pxsgmcmc {subject.version}"
            + "".join(f", {n} {versions[n]}" for n in ("jax", "python") if n in versions)
            + (f", code {origin['code']}" if origin.get("code") else "")
        ),
        "Directory": plain(run.place),
    }
    return {name: text for name, text in texts.items() if text}


def _time(run: Reported) -> str:
    """Spent on steps, as the log has it."""
    spent, before = 0.0, 0
    for line in run.logs[0] if run.logs else ():
        speed = line.get("steps_per_second") or 0.0
        if speed > 0.0 and line["step"] > before:
            spent += (line["step"] - before) / speed
            before = line["step"]
    return f"{duration(spent)} of sampling" if spent else ""
