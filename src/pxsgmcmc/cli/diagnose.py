"""The command `pxsgmcmc diagnose`: whether to believe a run."""

from collections.abc import Iterator
from statistics import fmean
from typing import Annotated

import tyro

from pxsgmcmc.results import (
    Connectivity,
    Convergence,
    Diagnostics,
    Distances,
    GroupTemperature,
    Skipped,
    Spectra,
    Temperatures,
)

# The parts that take long, in order, each with its share of the work as it usually is.
_SHARES = {
    "singular values": 0.1,
    "lines between draws": 0.15,
    "plane through three draws": 0.35,
    "predictions": 0.1,
    "gradient on all rows": 0.3,
}


def diagnose_run(
    directory: Annotated[str, tyro.conf.arg(metavar="DIR")],
    rows: int = 1000,
    lines: int = 10,
    line_points: int = 11,
    plane_points: int = 21,
    probes: int = 50,
) -> None:
    """Look into a run: does it move, has it settled, is it as warm as it should be?

    pxsgmcmc diagnose runs/mine
    pxsgmcmc diagnose runs/mine --plane-points 0 --rows 200

    Says what there is to worry about, and writes all the numbers to eval/diagnostics.json.

    Args:
      directory: of the run.
      rows: training rows for the error on lines between draws; half as many for the plane.
      lines: between so many pairs of consecutive draws.
      line_points: on each line, its ends among them.
      plane_points: on each side of the plane's grid; 0 leaves the plane out.
      probes: test rows whose probabilities are followed over the draws.
    """
    from pxsgmcmc.evaluation.diagnose import NAME, diagnose
    from pxsgmcmc.evaluation.progress import work_for

    work = work_for("diagnose", True)
    try:
        found = diagnose(
            directory,
            rows=rows,
            lines=lines,
            line_points=line_points,
            plane_points=plane_points,
            probes=probes,
            report=lambda what, done, of: work.tell(share_of_all(what, done / of), what),
        )
    finally:
        work.close()
    print("\n".join(summary(found)))
    print(f"All numbers are in {directory}/{NAME}")


def share_of_all(what: str, share: float) -> float:
    """Of all the work, when a share of one part is done."""
    names = list(_SHARES)
    before = sum(_SHARES[name] for name in names[: names.index(what)])
    return before + share * _SHARES[what]


def summary(found: Diagnostics) -> list[str]:
    """The findings in lines, and what to worry about at the end."""
    subject = found.subject
    lines = [f"{subject.method} on {subject.data}, {subject.model}, seed {subject.seed}"]
    parts = {
        "movement": found.distances,
        "convergence": found.convergence,
        "temperature": found.temperatures,
        "lines": found.connectivity,
        "layers": found.spectra,
        "factors": found.factors,
        "plane": found.plane,
    }
    width = max(map(len, parts))
    for name, part in parts.items():
        for text in _texts(part):
            lines.append(f"{name.ljust(width)}  {text}")
    health = found.worries or ["nothing to worry about in what could be looked at"]
    return [*lines, *(f"{'health'.ljust(width)}  {worry}" for worry in health)]


def _texts(part: object) -> Iterator[str]:
    match part:
        case Skipped():
            yield f"skipped: {part.reason}"
        case Distances():
            shares = [d for chain in part.d_bar for d in chain if d is not None]
            typical = f", {fmean(shares):.3g} of a draw's length" if shares else ""
            apart = fmean(d for chain in part.d for d in chain)
            yield f"draws are {apart:.3g} apart{typical} (independent ones: 1.4)"
        case Convergence():
            if part.energy:
                yield f"energy: {_mixing(part.energy)}"
            yield f"{part.quantities} predicted probabilities, median: {_mixing(part.median)}"
        case Temperatures():
            for kind in ("kinetic", "configurational"):
                for group, t in getattr(part, kind).items():
                    yield f"{kind} of {group}: {_warmth(t)}"
        case Connectivity():
            highest = max(part.lines, key=lambda line: line.barrier)
            rise = "never rises"
            if highest.barrier:
                between = f"from draw {highest.first} to {highest.second}"
                rise = f"rises by up to {highest.barrier:.3g}, {between},"
            yield f"between draws the error {rise} on {part.rows} training rows"
        case Spectra():
            yield _extremes(part)


def _mixing(found: dict[str, float | None]) -> str:
    shown = {name: "undefined" if v is None else f"{v:.3g}" for name, v in found.items()}
    return (
        f"R-hat {shown['r_hat']}, effective sample size {shown['ess_bulk']} "
        f"(tails {shown['ess_tail']})"
    )


def _warmth(t: GroupTemperature) -> str:
    return f"{t.value:.3g}, expected {t.expected:.3g} ({t.low:.3g} to {t.high:.3g})"


def _extremes(found: Spectra) -> str:
    largest = max(found.layers, key=lambda name: max(found.layers[name].largest))
    smallest = min(found.layers, key=lambda name: min(found.layers[name].smallest))
    high, low = max(found.layers[largest].largest), min(found.layers[smallest].smallest)
    return f"singular values from {low:.3g} ({smallest}) to {high:.3g} ({largest})"
