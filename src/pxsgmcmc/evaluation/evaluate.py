"""Everything `[evaluate]` asks for, measured and written to `results.json`.

Sets are taken one after the other. The logits of all draws on a set go to a file that is mapped, so
that every number and curve is made from it without another forward pass and without holding it in
memory; unless it is asked to be kept, it is removed before the next set.
"""

from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pxsgmcmc import data
from pxsgmcmc.data.corruptions import CORRUPTIONS, SEVERITIES
from pxsgmcmc.evaluation import artifacts, parts, sets
from pxsgmcmc.evaluation.detect import detect
from pxsgmcmc.evaluation.kept import KeptLogits
from pxsgmcmc.evaluation.load import open_experiment
from pxsgmcmc.evaluation.progress import Work, work_for
from pxsgmcmc.evaluation.tally import Tally, pool, tally
from pxsgmcmc.experiment import Experiment
from pxsgmcmc.metrics import METRICS, uncertainty
from pxsgmcmc.results import Corruptions, Detection, Results, Split, write


def evaluate(
    directory: str | Path,
    *,
    logits: str | Path | None = None,
    settings: list[str] | None = None,
    progress: bool | Literal["plain"] | Work = False,
) -> Results:
    """Measure a run on every set its configuration names, and write `results.json` into it.

    Args:
      directory: of the run; several chains are taken together.
      logits: folder to keep the logits of every draw in. When draws have been added, only those
        are evaluated the next time. Without it, they are removed on the way.
      settings: flags over the run's `[evaluate]` section, as ["--evaluate.subset", "500"].
      progress: show it, on standard error; "plain" for lines even on a terminal; or who is told.
    """
    opened = open_experiment(directory, settings)
    artifacts.check_writable(opened.path)
    experiment = opened.experiment
    # All of these are loaded and checked before the first forward pass.
    seen = {"train": data.Split(*experiment.train), "test": sets.test_rows(experiment)}
    if "validation" in experiment.dataset.splits:
        seen["validation"] = experiment.dataset.splits["validation"]
    shifts, outside = sets.shifted(experiment), sets.outside(experiment)
    corrupted_rows = sets.check_corruptions(experiment)
    plain = [*seen.values(), *shifts.values(), *outside.values()]
    rows = sum(len(split.x) for split in plain) + corrupted_rows
    with closing(work_for(f"evaluate {directory}", progress)) as work:
        run = KeptLogits(opened, logits, rows, work)
        on_test, inside = _on_test(run, seen["test"], experiment)
        results = Results(
            subject=opened.subject,
            train=_split(run, "train", seen["train"]),
            validation=_split(run, "validation", seen["validation"])
            if "validation" in seen
            else None,
            **on_test,
            shifts={name: _split(run, f"shift-{name}", rows) for name, rows in shifts.items()},
            out_of_distribution=_detections(run, inside, outside, experiment),
            corruptions=_corruptions(run, experiment) if corrupted_rows else None,
        )
    opened.write_artifact("results.json", write(results))
    return results


def _split(run: KeptLogits, name: str, rows: data.Split) -> Split:
    assert rows.y is not None
    with run.on(name, rows.x) as logits:
        return parts.split_of(logits, rows.y)


def _on_test(
    run: KeptLogits, rows: data.Split, experiment: Experiment
) -> tuple[dict[str, Any], np.ndarray]:
    """The fields of `Results` that are made of the test rows, and the entropy of each row."""
    assert rows.y is not None
    with run.on("test", rows.x) as logits:
        bins, risks = parts.calibration(logits, rows.y)
        fields = {
            "test": parts.split_of(logits, rows.y),
            "by_draws": parts.curve_by_draws(logits, rows.y),
            "by_burn_in": parts.curve_by_burn_in(logits, rows.y),
            "reliability": bins,
            "risk_coverage": risks,
            "gallery": parts.gallery_of(rows.x, rows.y, logits, experiment.dataset.classes),
        }
        return fields, uncertainty(logits).total


def _detections(
    run: KeptLogits, inside: np.ndarray, outside: dict[str, data.Split], experiment: Experiment
) -> dict[str, Detection]:
    found = {}
    for name, rows in outside.items():
        with run.on(f"outside-{name}", rows.x) as logits:
            entropy = uncertainty(logits).total
        classes = len(experiment.dataset.classes)
        found[name] = detect(inside, entropy, name, classes, experiment.config.evaluate)
    return found


def _corruptions(run: KeptLogits, experiment: Experiment) -> Corruptions:
    """One tally a corruption and severity: all that is kept of each."""
    tallies: dict[tuple[str, int], Tally] = {}
    for name in CORRUPTIONS:
        rows = sets.corrupted(experiment, name)
        with run.on_each({f"{name}-{s}": split.x for s, split in rows.items()}) as logits:
            for severity, split in rows.items():
                assert split.y is not None
                tallies[name, severity] = tally(logits[f"{name}-{severity}"], split.y)
    measured = {condition: found.metrics() for condition, found in tallies.items()}
    pooled = {
        str(severity): pool(tallies[name, severity] for name in CORRUPTIONS)
        for severity in SEVERITIES
    }
    pooled["all"] = pool(pooled.values())
    return Corruptions(
        names=list(CORRUPTIONS),
        severities=list(SEVERITIES),
        values={
            metric: [[measured[name, s][metric] for s in SEVERITIES] for name in CORRUPTIONS]
            for metric in METRICS
        },
        pooled={key: Split(rows=all.rows, metrics=all.metrics()) for key, all in pooled.items()},
    )
