"""Figures of predictions under strain: corrupted images, and images of another kind."""

from collections.abc import Iterator, Sequence
from statistics import fmean

import numpy as np
from matplotlib.axes import Axes

from pxsgmcmc.report.drawing import (
    DASHED,
    SOLID,
    Drawing,
    DrawnCurve,
    finished,
    lines,
    note,
    panel,
    scale,
)
from pxsgmcmc.report.formatting import listed, metric_title, number, plain
from pxsgmcmc.report.reported import Reported, ShownMethod
from pxsgmcmc.report.svg import MUTED
from pxsgmcmc.results import Detection


def corruption_figures(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    """Box plots over corruptions by severity, one figure a metric."""
    for metric in ("err", "nll", "ece"):
        tables = [(method, _by_severity(method, metric)) for method in methods]
        tables = [(method, table) for method, table in tables if table]
        if not tables:
            continue
        title = metric_title(metric)
        axes = panel("severity", f"{title} on corrupted test data")
        severities = sorted({severity for _, table in tables for severity in table})
        for place, (method, table) in enumerate(tables):
            _boxes(axes, method.colour, table, severities, place, len(tables))
        axes.set_xlim(-0.6, len(severities) - 0.4)
        axes.set_ylim(bottom=0.0)
        scale(axes, "y", percent=metric == "err")
        axes.set_xticks(range(len(severities)), [str(severity) for severity in severities])
        many = len(next(iter(tables[0][1].values())))
        yield finished(
            axes,
            f"corruptions-{metric}",
            f"{title} under corruption",
            f"Each box holds the middle half of {many} corruptions at one severity, its line the "
            "median, the whiskers all of them: lower and flatter is more robust.",
            " ".join(_medians_in_words(method, table) for method, table in tables),
        )


def _by_severity(method: ShownMethod, metric: str) -> dict[int, list[float]]:
    """Severity -> a value for each corruption, averaged over seeds."""
    corruptions = [run.results.corruptions for run in method.runs]
    known = [one for one in corruptions if one and metric in one.values]
    if not known or any(one.names != known[0].names for one in known):
        known = known[:1]
    table = {}
    for at, severity in enumerate(known[0].severities if known else []):
        rows = [[by_severity[at] for by_severity in one.values[metric]] for one in known]
        table[severity] = [fmean(values) for values in zip(*rows, strict=True)]
    return table


def _boxes(
    axes: Axes,
    colour: str,
    table: dict[int, list[float]],
    severities: list[int],
    place: int,
    methods: int,
) -> None:
    """One box a severity, methods side by side."""
    share = 0.78 / methods
    width = min(0.36, 0.82 * share)
    at = [severities.index(s) + (place - (methods - 1) / 2) * share for s in table]
    line = {"color": colour, "linewidth": 0.9}
    axes.boxplot(
        list(table.values()),
        positions=at,
        widths=width,
        whis=(0, 100),
        showcaps=False,
        manage_ticks=False,
        patch_artist=True,
        boxprops={"facecolor": colour, "edgecolor": "none", "alpha": 0.3},
        whiskerprops=line,
        medianprops={"color": colour, "linewidth": 1.8, "solid_capstyle": "butt"},
    )


def _medians_in_words(method: ShownMethod, table: dict[int, list[float]]) -> str:
    medians = [f"{number(float(np.median(v)))} at severity {s}" for s, v in table.items()]
    return f"{method.name}: median {listed(medians)}."


def outside_figures(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    """Entropy and ROC for every out-of-distribution set that any run was tested on."""
    names = dict.fromkeys(
        name for m in methods for run in m.runs for name in run.results.out_of_distribution
    )
    for place, name in enumerate(names):
        yield from _entropy(methods, name, f"entropy-{place}")
        yield from _roc(methods, name, f"roc-{place}")


def _detection(run: Reported, name: str) -> Detection | None:
    return run.results.out_of_distribution.get(name)


def _entropy(methods: Sequence[ShownMethod], name: str, place: str) -> Iterator[Drawing]:
    axes = panel("predictive entropy (nats)", "share of images")
    sentences = []
    for method in methods:
        detections = [d for run in method.runs if (d := _detection(run, name))]
        alike = [d for d in detections if d.edges == detections[0].edges]
        if not alike:
            continue
        edges = np.array(alike[0].edges)
        shares = {}
        for side, linestyle in (("inside", DASHED), ("outside", SOLID)):
            counts = np.array([getattr(d, side) for d in alike], float).sum(axis=0)
            shares[side] = counts / max(1.0, counts.sum())
            if side == "outside":
                axes.stairs(shares[side], edges, fill=True, color=method.colour, alpha=0.18)
            axes.stairs(
                shares[side], edges, color=method.colour, linestyle=linestyle, linewidth=1.2
            )
        middles = (edges[:-1] + edges[1:]) / 2.0
        means = {side: float((shares[side] * middles).sum()) for side in shares}
        sentences.append(
            f"{method.name}: mean entropy about {number(means['inside'], 2)} inside and "
            f"{number(means['outside'], 2)} outside."
        )
    if not sentences:
        return
    for which in "xy":
        scale(axes, which, percent=which == "y")
    axes.set_ylim(bottom=0.0)
    axes.margins(x=0.01)
    # Above the panel, since either kind of data may fill any part of it.
    note(axes, 1.0, 1.06, f"dashed: test, filled: {plain(name, 18)}", ha="right", va="baseline")
    yield finished(
        axes,
        place,
        f"Entropy on {plain(name, 60)}",
        "Predictive entropy of the test images (dashed) and of the images of another kind (solid, "
        "filled): the further right the filled part lies, the better the model knows that it "
        "does not know.",
        " ".join(sentences),
    )


def _roc(methods: Sequence[ShownMethod], name: str, place: str) -> Iterator[Drawing]:
    def curve(run: Reported) -> list[DrawnCurve]:
        detection = _detection(run, name)
        return [DrawnCurve(detection.false_alarms, detection.detections)] if detection else []

    axes = panel("false alarms", "detected", square=True)
    axes.plot([0.0, 1.0], [0.0, 1.0], color=MUTED, linewidth=0.7, linestyle=DASHED)
    if not lines(axes, methods, curve):
        return
    for which in "xy":
        scale(axes, which, percent=True)
    axes.set(xlim=(-0.01, 1.02), ylim=(-0.01, 1.02))
    sentences = []
    for row, method in enumerate(methods):
        areas = [d.metrics["auroc"] for run in method.runs if (d := _detection(run, name))]
        if not areas:
            continue
        sentences.append(f"{method.name}: AUROC {number(fmean(areas))}.")
        text = f"AUROC {fmean(areas):.3f}"
        height = 0.06 + 0.07 * (len(methods) - 1 - row)
        note(axes, 0.985, height, text, method.colour, ha="right", va="center")
    yield finished(
        axes,
        place,
        f"Telling {plain(name, 60)} apart",
        "Share of one kind that is told by its entropy against the false alarms this costs, over "
        "all thresholds: the upper left corner is perfect, the dashed line is guessing.",
        " ".join(sentences),
    )
