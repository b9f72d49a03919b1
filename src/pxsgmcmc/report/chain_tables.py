"""Tables of the chain itself: convergence, temperatures, singular values by layer."""

from collections.abc import Iterator, Sequence

from pxsgmcmc.report.geometry_figures import found_in
from pxsgmcmc.report.reported import Reported, Shown
from pxsgmcmc.report.tables import Cell, Table, all_runs
from pxsgmcmc.report.words import MISSING, minus, number, plain
from pxsgmcmc.results import Convergence, Spectra, Temperatures


def convergence_table(methods: Sequence[Shown]) -> Table | None:
    """R-hat and effective sample sizes, of every run."""
    rows = []
    for of, run in _each(methods):
        found = found_in(run, "convergence", Convergence)
        if not found:
            continue
        parts = {
            "energy": found.energy,
            f"worst of {found.quantities:,} predicted probabilities": found.worst,
            "median of them": found.median,
        }
        for name, part in parts.items():
            cells = [number(part.get(key)) for key in ("r_hat", "ess_bulk", "ess_tail")]
            rows.append([Cell(name + of), *map(Cell, cells)])
    note = (
        "R-hat compares stretches of the chain (and chains) with each other: near 1.00 they "
        "agree, above 1.01 they have not forgotten where they started. ESS is how many "
        "independent draws they are worth."
    )
    head = ["of", "R-hat", "ESS (bulk)", "ESS (tail)"]
    return Table("Convergence", head, rows, note) if rows else None


def temperature_table(methods: Sequence[Shown]) -> Table | None:
    """Kinetic and configurational temperature of each group, with its band."""
    rows = []
    for of, run in _each(methods):
        found = found_in(run, "temperatures", Temperatures)
        for kind in ("kinetic", "configurational") if found else ():
            for group, heat in getattr(found, kind).items():
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
    note = "At the last state; the band holds 99 of 100 estimates of a chain that is well."
    head = ["temperature", "seen", "expected", "band", "within"]
    return Table("Temperatures", head, rows, note) if rows else None


def layers_table(run: Reported, part: str, caption: str) -> Table | None:
    """Extreme singular values of each layer at the last draw."""
    found = found_in(run, part, Spectra)
    rows = [
        [
            Cell(plain(name, 60)),
            *(Cell(number(v[-1]) if v else MISSING) for v in (e.largest, e.smallest, e.condition)),
        ]
        for name, e in (found.layers.items() if found else ())
    ]
    return Table(caption, ["layer", "largest", "smallest", "condition"], rows) if rows else None


def _each(methods: Sequence[Shown]) -> Iterator[tuple[str, Reported]]:
    """Every run, with how its rows end where there are several."""
    several = len(all_runs(methods)) > 1
    for method in methods:
        for run in method.runs:
            seed = run.results.subject.seed
            yield (f" – {method.name}, seed {seed}" if several else ""), run
