"""Figures of what is predicted: by draw, by number of draws, by certainty."""

import math
from collections.abc import Iterator, Sequence

from matplotlib.axes import Axes

from pxsgmcmc import results
from pxsgmcmc.report.drawing import (
    DASHED,
    Drawing,
    DrawnCurve,
    finished,
    label_ends,
    lines,
    panel,
    scale,
    suited_scale,
)
from pxsgmcmc.report.formatting import SHARES, metric_title, number
from pxsgmcmc.report.reported import Reported, ShownMethod
from pxsgmcmc.report.svg import MUTED
from pxsgmcmc.results import ReliabilityResult, SplitResult


def prediction_figures(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    """All that the results allow."""
    yield from _error_by_draw(methods, "err")
    yield from _error_by_draw(methods, "rmse")
    yield from _by_draws(methods)
    yield from _by_burn_in(methods)
    yield from _reliability(methods)
    yield from _risk_coverage(methods)


def _error_by_draw(methods: Sequence[ShownMethod], metric: str) -> Iterator[Drawing]:
    def errors(split: SplitResult | None) -> list[DrawnCurve]:
        values = split.by_draw.get(metric, []) if split else []
        return [DrawnCurve(range(1, len(values) + 1), values)]

    def held_out(run: Reported) -> tuple[str, SplitResult]:
        evaluation = run.results
        return (
            ("validation", evaluation.validation)
            if evaluation.validation
            else ("test", evaluation.test)
        )

    single = _single(methods)
    of = "error" if metric == "err" else metric_title(metric)
    axes = panel("draw", f"{of} of each draw alone", room_for_labels=single is not None)
    if not lines(axes, methods, lambda run: errors(run.results.train), linestyle=DASHED):
        return
    sentences = lines(axes, methods, lambda run: errors(held_out(run)[1]))
    suited_scale(axes, percent=metric in SHARES)
    scale(axes, "x", whole=True)
    names = sorted({held_out(run)[0] for method in methods for run in method.runs})
    if single:
        ends = {"train": single.results.train, names[0]: held_out(single)[1]}
        known = {name: s.by_draw.get(metric) for name, s in ends.items()}
        label_ends(axes, [(values[-1], name) for name, values in known.items() if values])
    yield finished(
        axes,
        f"{metric}-by-draw",
        "Error, draw by draw",
        f"Solid is {' or '.join(names)} data, dashed is training data: a chain that has settled "
        "runs level, and a gap between the two is over-fitting of single draws.",
        " ".join(sentences),
    )


def _by_draws(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    for metric in ("err", "rmse", "nll", "ece", "crps"):
        title = metric_title(metric)
        axes = panel("draws averaged", f"test {title}")
        sentences = lines(axes, methods, lambda run, m=metric: _points(run.results.by_draws, m))
        if not sentences:
            continue
        scale(axes, "x", log=axes.get_xlim()[1] > 10.0, whole=True)
        suited_scale(axes, percent=metric in SHARES)
        yield finished(
            axes,
            f"by-draws-{metric}",
            f"{title} against the number of draws",
            f"The {title} of the first 1, 2, 3, … draws averaged: lower is better, and where the "
            "line is flat more draws would not help.",
            " ".join(sentences),
        )


def _points(curve: results.Curve | None, key: str) -> list[DrawnCurve]:
    return [DrawnCurve(curve.at, curve.values[key])] if curve and key in curve.values else []


def _by_burn_in(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    for metric in ("err", "rmse", "nll"):
        alone, together = f"individual_{metric}", f"ensemble_{metric}"
        title, single = metric_title(metric), _single(methods)
        axes = panel("draws left out", f"test {title}", room_for_labels=single is not None)
        sentences = lines(axes, methods, lambda run, k=together: _points(run.results.by_burn_in, k))
        if not sentences:
            continue
        lines(
            axes,
            methods,
            lambda run, k=alone: _points(run.results.by_burn_in, k),
            linestyle=DASHED,
        )
        scale(axes, "x", whole=True)
        suited_scale(axes, percent=metric in SHARES)
        if single and single.results.by_burn_in:
            values = single.results.by_burn_in.values
            names = {"averaged": together, "one alone": alone}
            label_ends(axes, [(values[k][-1], n) for n, k in names.items() if values.get(k)])
        yield finished(
            axes,
            f"by-burn-in-{metric}",
            f"{title} against burn-in",
            "A window of draws, moved along the chain: solid is its average, dashed one of its "
            "draws alone; where both are flat, leaving out more draws gains nothing.",
            " ".join(sentences),
        )


def _reliability(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    single = _single(methods)
    axes = panel("confidence", "share that is right", square=True)
    axes.plot([0.0, 1.0], [0.0, 1.0], color=MUTED, linewidth=0.7, linestyle=DASHED)
    if single and single.results.reliability:
        _intervals(axes, single.results.reliability, methods[0].colour)
    sentences = lines(axes, methods, _bins, average=False)
    if not sentences:
        return
    for which in "xy":
        scale(axes, which, percent=True)
    axes.set(xlim=(-0.01, 1.02), ylim=(-0.01, 1.02))
    caption = (
        "On the diagonal the predictions are as certain as they should be: below it they are too "
        "sure of themselves, above it not sure enough"
    )
    if single:
        caption += "; bars are 95% intervals for the share in a bin, dots grow with its count"
    yield finished(
        axes,
        "reliability",
        "Reliability",
        f"{caption}.",
        " ".join(_calibration_in_words(method) for method in methods),
    )


def _bins(run: Reported) -> list[DrawnCurve]:
    reliability = run.results.reliability
    if not reliability:
        return []
    rows = zip(reliability.count, reliability.confidence, reliability.accuracy, strict=True)
    filled = [(c, a) for n, c, a in rows if n and c is not None and a is not None]
    return [DrawnCurve([c for c, _ in filled], [a for _, a in filled])]


def _intervals(axes: Axes, reliability: ReliabilityResult, colour: str) -> None:
    """Wilson's interval for the accuracy in each bin, and a dot whose area follows the count."""
    total = max(1, sum(reliability.count))
    for n, confidence, accuracy in zip(
        reliability.count, reliability.confidence, reliability.accuracy, strict=True
    ):
        if not n or confidence is None or accuracy is None:
            continue
        low, high = wilson(accuracy, n)
        axes.plot([confidence] * 2, [low, high], color=colour, linewidth=0.9, alpha=0.5)
        size = 6.0 + 60.0 * n / total
        axes.scatter([confidence], [accuracy], s=size, color=colour, linewidths=0.0, zorder=3)


def wilson(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval for a share seen among n (Wilson, 1927).

    Example:
      >>> [round(end, 3) for end in wilson(0.5, 10)]
      [0.237, 0.763]
    """
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return centre - reach, centre + reach


def _calibration_in_words(method: ShownMethod) -> str:
    errors = [run.results.test.metrics.get("ece") for run in method.runs]
    return f"{method.name}: expected calibration error {number(errors[0])}."


def _risk_coverage(methods: Sequence[ShownMethod]) -> Iterator[Drawing]:
    def curve(run: Reported) -> list[DrawnCurve]:
        risks = run.results.risk_coverage
        return [DrawnCurve(risks.coverage, risks.risk)] if risks else []

    axes = panel("share of the data answered, most certain first", "error among them")
    sentences = lines(axes, methods, curve)
    if not sentences:
        return
    for which in "xy":
        scale(axes, which, percent=True)
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(bottom=0.0)
    yield finished(
        axes,
        "risk-coverage",
        "Risk and coverage",
        "How often the model errs if it answers only where it is most certain: the longer the "
        "line stays low, the better its uncertainty sorts right from wrong.",
        " ".join(sentences),
    )


def _single(methods: Sequence[ShownMethod]) -> Reported | None:
    """The run, if there is only one: its lines can be labelled where they end."""
    return methods[0].runs[0] if len(methods) == 1 and len(methods[0].runs) == 1 else None
