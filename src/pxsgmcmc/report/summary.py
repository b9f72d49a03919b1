"""What was run and on what, in a few sentences and facts."""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from pxsgmcmc.report.reported import Reported, Shown
from pxsgmcmc.report.words import (
    count,
    duration,
    listed,
    metric_title,
    metric_value,
    percent,
    plain,
)


class Tile(NamedTuple):
    """One number that stands out."""

    name: str
    value: str
    about: str


_TILES = {
    "err": "of the test data are misclassified",
    "nll": "mean negative log-probability of the right class",
    "ece": "between how sure it is and how often it is right",
}


GLOSSARY = {
    "ERR": "Share of rows whose most probable class is wrong.",
    "NLL": "Mean of −log of the probability given to the right class, draws averaged first. "
    "Punishes being sure and wrong.",
    "IND": "The same for single draws, averaged after.",
    "AMB": "Ambiguity: how much the draws disagree, as the NLL that averaging their logits saves.",
    "VAR": "Variance of the predicted probabilities between draws, summed over classes.",
    "ECE": "Expected calibration error in 15 bins of confidence.",
    "Brier": "Squared distance between predicted probabilities and what was true, from 0 to 2.",
    "Entropy": "Of the averaged prediction, in nats: aleatoric is what every draw is unsure of, "
    "epistemic is what they disagree about.",
    "AUROC": "Probability that a row of another kind has the higher entropy; 0.5 is guessing.",
    "TNR95, TNR99": "Share of the other side turned away when 95% or 99% of the positive side "
    "is let in.",
}


def heading(methods: Sequence[Shown]) -> str:
    """The title of the page."""
    data = plain(methods[0].runs[0].results.subject.data, 60)
    if len(methods) <= 3:
        return f"{listed([method.name for method in methods])} on {data}"
    return f"{len(methods)} methods on {data}"


def sentences(methods: Sequence[Shown]) -> str:
    """What was done, and what came of it."""
    if len(methods) > 1 or len(methods[0].runs) > 1:
        return _of_many(methods)
    found = methods[0].runs[0].results
    subject, metrics = found.subject, found.test.metrics
    chains = f" by {count(subject.chains, 'chain')}" if subject.chains > 1 else ""
    said = [
        f"{count(subject.draws, 'draw')}{chains} from the posterior of a network "
        f"({plain(subject.model)}) on {plain(subject.data, 60)}, {subject.steps:,} steps in all."
    ]
    if "err" in metrics:
        said.append(
            f"Averaged, they get {percent(metrics['err'])} of {found.test.rows:,} test rows wrong"
        )
        alone = found.test.by_draw.get("err")
        said[-1] += f"; one alone gets {percent(fmean(alone))} wrong on average." if alone else "."
    return " ".join(said)


def _of_many(methods: Sequence[Shown]) -> str:
    subject = methods[0].runs[0].results.subject
    several = any(len(method.runs) > 1 for method in methods)
    seeds = "; thin lines are single seeds, bold lines their mean" if several else ""
    runs = [f"{method.name} ({count(len(method.runs), 'seed')})" for method in methods]
    return (
        f"Draws from the posterior of a network ({plain(subject.model)}) on "
        f"{plain(subject.data, 60)} by {listed(runs)}. Each colour is a method{seeds}."
    )


def tiles(run: Reported) -> list[Tile]:
    """The numbers most readers came for."""
    found = run.results
    shown = [
        Tile(metric_title(name), metric_value(name, found.test.metrics[name]), about)
        for name, about in _TILES.items()
        if name in found.test.metrics
    ]
    areas = [d.metrics["auroc"] for d in found.out_of_distribution.values() if "auroc" in d.metrics]
    if areas:
        about = f"for telling other data apart, mean of {count(len(areas), 'set')}"
        shown.append(Tile("AUROC", metric_value("auroc", fmean(areas)), about))
    return shown


def facts(run: Reported) -> dict[str, str]:
    """What was run, name -> words."""
    subject, manifest = run.results.subject, run.manifest
    origin = manifest.get("origin", {})
    versions = origin.get("versions", {})
    moved = f"{subject.parameters:,}"
    if subject.sampled != subject.parameters:
        moved += f", sampled through {subject.sampled:,} coordinates"
    found = {
        "Method": plain(subject.method),
        "Data": plain(subject.data),
        "Network": plain(subject.model),
        "Parameters": moved,
        "Draws": f"{subject.draws:,} from {count(subject.chains, 'chain')}",
        "Steps": f"{subject.steps:,} a chain",
        "Seed": str(subject.seed),
        "Time": _time(run),
        "Status": plain(str(manifest.get("status", ""))),
        "Machine": plain(", ".join(sorted(set(map(str, origin.get("devices", [])))))),
        "Made by": plain(
            f"pxsgmcmc {subject.version}"
            + "".join(f", {n} {versions[n]}" for n in ("jax", "python") if n in versions)
            + (f", code {origin['code']}" if origin.get("code") else "")
        ),
        "Directory": plain(run.place),
    }
    return {name: text for name, text in found.items() if text}


def _time(run: Reported) -> str:
    """Spent on steps, as the log has it."""
    spent, before = 0.0, 0
    for line in run.logs[0] if run.logs else ():
        speed = line.get("steps_per_second") or 0.0
        if speed > 0.0 and line["step"] > before:
            spent += (line["step"] - before) / speed
            before = line["step"]
    return f"{duration(spent)} of sampling" if spent else ""
