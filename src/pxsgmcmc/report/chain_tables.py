"""Tables of the chain itself: convergence, temperatures, singular values by layer."""

import math
from collections.abc import Iterator, Sequence

from pxsgmcmc.health import CONDITION, R_HAT, R_HAT_FALSE_ALARM, highest_r_hat
from pxsgmcmc.report.formatting import MISSING, minus, number, plain, power
from pxsgmcmc.report.geometry_figures import part_of
from pxsgmcmc.report.reported import Reported, ShownMethod
from pxsgmcmc.report.tables import Cell, Table, all_runs
from pxsgmcmc.results import ConvergenceResult, SpectraResult, TemperaturesResult, from_number

EXTREME_VALUES = (
    "Along a singular vector whose value is near zero, a layer or factor maps its input to "
    "nothing: what lies there is lost to the rest of the network. The condition is the largest "
    f"over the smallest value. Above {power(CONDITION)} (bold) a step that is small enough for "
    "the strongest direction hardly moves the weakest, of which single precision keeps about "
    "three digits."
)


def convergence_table(methods: Sequence[ShownMethod]) -> Table | None:
    """R-hat and effective sample sizes, of every run."""
    rows, limits = [], []
    for of, run in _each(methods):
        convergence = part_of(run, "convergence", ConvergenceResult)
        if not convergence:
            continue
        limits.append(highest_r_hat(convergence.chains, convergence.draws))
        parts = {
            "energy": convergence.energy,
            f"worst of {convergence.quantities:,} {_predictions(run)}": convergence.worst,
            "median of them": convergence.median,
        }
        for name, part in parts.items():
            cells = [
                number(from_number(part.get(key))) for key in ("r_hat", "ess_bulk", "ess_tail")
            ]
            rows.append([Cell(name + of), *map(Cell, cells)])
    note = (
        "R-hat compares halves of the chain (and chains) with each other: near 1 they agree, above "
        f"{R_HAT} they have not forgotten where they started{_by_chance(limits)}. Among many "
        f"predictions the worst may well be above {R_HAT}: the verdict goes by the energy and by "
        "the median. ESS is how many independent draws they are worth."
    )
    head = ["of", "R-hat", "ESS (bulk)", "ESS (tail)"]
    return Table("Convergence", head, rows, note) if rows else None


def _by_chance(limits: Sequence[float]) -> str:
    """How high R-hat goes of so few draws though nothing is wrong."""
    limit = max((limit for limit in limits if math.isfinite(limit)), default=R_HAT)
    if limit <= R_HAT:
        return ""
    return (
        f", unless the draws are few: of as few as here, chance alone takes it above {limit:.2f} "
        f"in {100.0 * R_HAT_FALSE_ALARM:g} of 100 runs"
    )


def _predictions(run: Reported) -> str:
    names = {"classification": "predicted probabilities", "regression": "predictions"}
    return names.get(run.results.task, "outputs")


def temperature_table(methods: Sequence[ShownMethod]) -> Table | None:
    """Kinetic and configurational temperature of each group, with its band."""
    rows = []
    for of, run in _each(methods):
        temperatures = part_of(run, "temperatures", TemperaturesResult)
        for kind in ("kinetic", "configurational") if temperatures else ():
            for group, heat in getattr(temperatures, kind).items():
                band = f"{heat.low:.3f} to {heat.high:.3f}"
                seen = [f"{heat.value:.3f}", f"{heat.expected:.3f}", band]
                inside = heat.low <= heat.value <= heat.high
                rows.append(
                    [
                        Cell(f"{kind}, {plain(group, 40)}{of}"),
                        *(Cell(minus(text)) for text in seen),
                        Cell("yes" if inside else "no", strong=not inside),
                    ]
                )
    note = (
        "Kinetic is a mean over the last cycle, configurational is at the last state. Of a chain "
        "that is well, the band holds 99 of 100 estimates."
    )
    head = ["temperature", "seen", "expected", "band", "within"]
    return Table("Temperatures", head, rows, note) if rows else None


def layers_table(run: Reported, part: str, caption: str) -> Table | None:
    """Extreme singular values of each layer at the last draw."""
    spectra = part_of(run, part, SpectraResult)
    rows = []
    for name, e in spectra.layers.items() if spectra else ():
        condition = e.condition[-1] if e.condition else None
        ends = [Cell(number(v[-1]) if v else MISSING) for v in (e.largest, e.smallest)]
        extreme = condition is None or condition > CONDITION
        rows.append([Cell(plain(name, 60)), *ends, Cell(number(condition), strong=extreme)])
    head = ["layer", "largest", "smallest", "condition"]
    return Table(caption, head, rows, EXTREME_VALUES) if rows else None


def _each(methods: Sequence[ShownMethod]) -> Iterator[tuple[str, Reported]]:
    """Every run, with how its rows end where there are several."""
    several = len(all_runs(methods)) > 1
    for method in methods:
        for run in method.runs:
            seed = run.results.subject.seed
            yield (f" – {method.name}, seed {seed}" if several else ""), run
