"""From what was found out about a run to values by measure and curves by name.

Measures are written SET/METRIC: "test/nll", "shift cifar10.1/err", "corruptions/ece" over all
severities and "corruptions-3/ece" at one, "ood svhn/auroc", "draws/d_bar", "layers/largest".
"""

import math
from collections.abc import Sequence
from statistics import fmean

from pxsgmcmc.results import Diagnostics, Extremes, PlaneResult, Results, SpectraResult, SplitResult

Values = dict[str, float]
Curves = dict[str, list[float | None]]
EARLY = (1, 2, 5, 10)  # draws whose error is looked at alone
CLOSE = 1.05  # of the final error: there a chain has settled
NEAR = 1.02  # of the best average: there burn-in is long enough


def values_of(results: Results) -> tuple[Values, Curves]:
    """Values and curves of an evaluation."""
    values: Values = {
        "counts/parameters": results.subject.parameters,
        "counts/sampled": results.subject.sampled,
    }
    curves: Curves = {}
    sets: dict[str, SplitResult | None] = {
        "train": results.train,
        "validation": results.validation,
        "test": results.test,
        **{f"shift {name}": split for name, split in results.shifts.items()},
    }
    for name, split in sets.items():
        if split is not None:
            values |= {f"{name}/{metric}": value for metric, value in split.metrics.items()}
    for name in ("train", "validation"):
        split = sets[name]
        if split is not None and "err" in split.by_draw:
            errors = split.by_draw["err"]
            curves[f"trace/{name}"] = list(errors)
            values |= {f"{name}/err_{n}": errors[n - 1] for n in EARLY if n <= len(errors)}
            values[f"{name}/settling"] = draws_to_settle(errors)
    if results.by_burn_in is not None:
        at = results.by_burn_in.at
        curves["burn_in/at"] = list(map(float, at))
        for metric, series in results.by_burn_in.values.items():
            curves[f"burn_in/{metric}"] = list(series)
        if "ensemble_nll" in results.by_burn_in.values:
            series = results.by_burn_in.values["ensemble_nll"]
            values["burn_in/needed"] = float(at[first_near(series, NEAR)])
    _add_corruptions(results, values, curves)
    for name, detection in results.out_of_distribution.items():
        values |= {f"ood {name}/{metric}": value for metric, value in detection.metrics.items()}
        curves |= {
            f"ood {name}/edges": list(detection.edges),
            f"ood {name}/inside": list(map(float, detection.inside)),
            f"ood {name}/outside": list(map(float, detection.outside)),
            f"ood {name}/false_alarms": list(detection.false_alarms),
            f"ood {name}/detections": list(detection.detections),
        }
    return values, curves


def _add_corruptions(results: Results, values: Values, curves: Curves) -> None:
    corrupted = results.corruptions
    if corrupted is None:
        return
    for severity, split in corrupted.pooled.items():
        name = "corruptions" if severity == "all" else f"corruptions-{severity}"
        values |= {f"{name}/{metric}": value for metric, value in split.metrics.items()}
    for metric in ("err", "nll", "ece"):
        for place, severity in enumerate(corrupted.severities):
            column = [row[place] for row in corrupted.values[metric]]
            curves[f"corruptions-{severity}/{metric}"] = list(column)


def diagnosed_values(diagnostics: Diagnostics) -> tuple[Values, Curves]:
    """Values and curves of a diagnosis; what was skipped is not there."""
    values: Values = {}
    curves: Curves = {}
    distances = diagnostics.distances
    if hasattr(distances, "d_bar"):
        for name in ("d", "d_bar"):
            series = [v for chain in getattr(distances, name) for v in chain if v is not None]
            if series:
                values[f"draws/{name}"] = fmean(series)
            curves[f"draws/{name}"] = list(getattr(distances, name)[0])
    if isinstance(diagnostics.spectra, SpectraResult) and diagnostics.spectra.layers:
        _add_spectra(diagnostics.spectra.layers, values, curves)
    lines = getattr(diagnostics.connectivity, "lines", [])
    if lines:
        values["lines/barrier"] = fmean(line.barrier for line in lines)
        curves["lines/at"] = list(lines[0].at)
        curves["lines/error"] = [fmean(e) for e in zip(*(x.error for x in lines), strict=True)]
    if isinstance(plane := diagnostics.plane, PlaneResult):
        curves |= {"plane/x": list(plane.x), "plane/y": list(plane.y)}
        curves["plane/error"] = [value for row in plane.error for value in row]
        curves["plane/points"] = [value for point in plane.points for value in point]
        curves["plane/draws"] = list(map(float, plane.draws))
    for over, name in (("median", "r_hat"), ("worst", "r_hat_worst")):
        r_hat = getattr(diagnostics.convergence, over, {}).get("r_hat")
        if isinstance(r_hat, float):
            values[f"chains/{name}"] = r_hat
    return values, curves


def _add_spectra(layers: dict[str, Extremes], values: Values, curves: Curves) -> None:
    """The extremes over layers, by draw, and every layer's own."""
    for name, extreme in (("largest", max), ("smallest", min), ("condition", max)):
        series = [getattr(layer, name) for layer in layers.values()]
        draws = list(zip(*series, strict=True))
        worst = [extreme(k) if (k := [v for v in d if v is not None]) else None for d in draws]
        known = [v for v in worst if v is not None]
        if known:
            # By draw, the geometric mean: condition numbers spread over decades.
            logs = [math.log(v) for v in known if v > 0.0]
            values[f"layers/{name}"] = math.exp(fmean(logs)) if logs else 0.0
        curves[f"layers/{name}"] = list(worst)
        for layer, one in zip(layers, series, strict=True):
            curves[f"layers/{name}/{layer}"] = list(one)


def draws_to_settle(errors: Sequence[float]) -> float:
    """The first draw from which on the error stays within 5 % of the mean of the last quarter.

    Example:
      >>> draws_to_settle([0.5, 0.2, 0.101, 0.1, 0.1, 0.1, 0.1, 0.1])
      3.0
    """
    final = fmean(errors[-max(1, len(errors) // 4) :])
    late = [n for n, error in enumerate(errors, start=1) if error > CLOSE * final]
    return float(min(late[-1] + 1, len(errors)) if late else 1)


def first_near(series: Sequence[float], factor: float) -> int:
    """The first place whose value is within a factor of the lowest one.

    Example:
      >>> first_near([3.0, 2.0, 1.01, 1.0], 1.02)
      2
    """
    lowest = min(series)
    return next(i for i, value in enumerate(series) if value <= factor * lowest)
