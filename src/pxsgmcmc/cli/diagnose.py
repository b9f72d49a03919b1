"""The command `pxsgmcmc diagnose`: whether to believe a run."""

from collections.abc import Iterator
from statistics import fmean

from pxsgmcmc.cli.opening import Directory, ProblemName, run_at
from pxsgmcmc.cli.saying import say
from pxsgmcmc.errors import printable
from pxsgmcmc.results import (
    Connectivity,
    ConvergenceResult,
    Diagnostics,
    DistancesResult,
    GroupTemperature,
    Number,
    Skipped,
    SpectraResult,
    TemperaturesResult,
)


def diagnose_run(
    directory: Directory,
    rows: int = 1000,
    lines: int = 10,
    line_points: int = 11,
    plane_points: int = 21,
    probes: int = 50,
    skip: int = 0,
    problem: ProblemName = None,
) -> None:
    """Look into a run: does it move, has it settled, is it as warm as it should be?

    pxsgmcmc diagnose runs/mine
    pxsgmcmc diagnose runs/mine --plane-points 0 --rows 200 --skip 10

    Says what is wrong and what to do about it, and writes all the numbers to eval/diagnostics.json.

    Args:
      directory: of the run.
      rows: training rows for the error on lines between draws; half as many for the plane.
      lines: between so many pairs of consecutive draws.
      line_points: on each line, its ends among them.
      plane_points: on each side of the plane's grid; 0 leaves the plane out.
      probes: test rows whose predictions are followed over the draws.
      skip: leave out so many draws at the start of each chain.
      problem: for a run made from Python, the function that returns its problem.
    """
    from pxsgmcmc.evaluate.options import DiagnoseOptions

    options = DiagnoseOptions(rows, lines, line_points, plane_points, probes)
    diagnosis = run_at(directory, problem, skip).diagnose(options, progress=True)
    say("\n".join(summary(diagnosis)))
    say(f"All numbers are in {printable(directory)}/eval/diagnostics.json")


def summary(diagnosis: Diagnostics) -> list[str]:
    """The findings in lines, and the verdict at the end."""
    subject = diagnosis.subject
    chains = f"{subject.chains} chain{'s' * (subject.chains != 1)}"
    lines = [f"{subject.method} on {subject.data}: {subject.draws} draws, {chains}"]
    parts = {
        "movement": diagnosis.distances,
        "convergence": diagnosis.convergence,
        "temperature": diagnosis.temperatures,
        "lines": diagnosis.connectivity,
        "layers": diagnosis.spectra,
        "factors": diagnosis.factors,
        "plane": diagnosis.plane,
    }
    width = max(map(len, parts))
    for name, part in parts.items():
        for text in _texts(part):
            lines.append(f"{name.ljust(width)}  {text}")
    verdict = diagnosis.verdict
    assert verdict is not None
    health = [verdict.headline, *(f"- {warning}" for warning in verdict.warnings)]
    return [*lines, *(f"{'verdict'.ljust(width)}  {sentence}" for sentence in health)]


def _texts(part: object) -> Iterator[str]:
    match part:
        case Skipped():
            yield f"skipped: {part.reason}"
        case DistancesResult():
            shares = [d for chain in part.d_bar for d in chain if d is not None]
            typical = f", {fmean(shares):.3g} of a draw's length" if shares else ""
            apart = fmean(d for chain in part.d for d in chain)
            yield f"draws are {apart:.3g} apart{typical} (independent ones: 1.4)"
        case ConvergenceResult():
            if part.energy:
                yield f"energy: {_mixing(part.energy)}"
            yield f"{part.quantities} predictions, median: {_mixing(part.median)}"
        case TemperaturesResult():
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
        case SpectraResult():
            yield _extremes(part)


def _mixing(statistics: dict[str, Number]) -> str:
    shown = {name: _spelt(value) for name, value in statistics.items()}
    return (
        f"R-hat {shown['r_hat']}, effective sample size {shown['ess_bulk']} "
        f"(tails {shown['ess_tail']})"
    )


def _spelt(number: Number) -> str:
    if isinstance(number, str):
        return number
    return "undefined" if number is None else f"{number:.3g}"


def _warmth(t: GroupTemperature) -> str:
    return f"{t.value:.3g}, expected {t.expected:.3g} ({t.low:.3g} to {t.high:.3g})"


def _extremes(spectra: SpectraResult) -> str:
    largest = max(spectra.layers, key=lambda name: max(spectra.layers[name].largest))
    smallest = min(spectra.layers, key=lambda name: min(spectra.layers[name].smallest))
    high, low = max(spectra.layers[largest].largest), min(spectra.layers[smallest].smallest)
    return f"singular values from {low:.3g} ({smallest}) to {high:.3g} ({largest})"
