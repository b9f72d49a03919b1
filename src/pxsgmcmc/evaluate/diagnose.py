"""What a run did and whether to believe it.

What a run is too short for, or what is not known here, is skipped, with the reason.
"""

from collections.abc import Iterator
from math import isfinite

import msgspec
import numpy as np

from pxsgmcmc import diagnostics, results
from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluate.connectivity import lines_between_draws, plane_through_draws
from pxsgmcmc.evaluate.diagnose_progress import Tell, evenly, teller
from pxsgmcmc.evaluate.kernels import find_kernels, layer_name, singular_values
from pxsgmcmc.evaluate.last_state import factor_spectra, last_states, temperatures
from pxsgmcmc.evaluate.options import DiagnoseOptions
from pxsgmcmc.evaluate.subject import subject_of
from pxsgmcmc.health import fewest_draws, judge
from pxsgmcmc.predict import Forward
from pxsgmcmc.problem import Problem
from pxsgmcmc.progress import Progress, Show, progress_for
from pxsgmcmc.results import Diagnostics, Skipped, to_number
from pxsgmcmc.run import DIAGNOSTICS, Run
from pxsgmcmc.run.findings import with_findings
from pxsgmcmc.run.health import evidence_on
from pxsgmcmc.tree import ROOT, to_arrays
from pxsgmcmc.types import Tree


def diagnose(
    run: Run, *, options: DiagnoseOptions | None = None, progress: Show | Progress = False
) -> Diagnostics:
    """Look into a run, and keep what was found as eval/diagnostics.json beside its draws.

    Args:
      run: its draws; several chains are taken together.
      options: how closely to look.
      progress: show it; "plain" for lines even on a terminal; or who is told.
    """
    options = DiagnoseOptions() if options is None else options
    rows = options.rows
    problem = run.need_problem("diagnose")
    if not len(run):
        raise UserError("There must be at least one draw to diagnose, got none.")
    run.check_writable()
    shown = progress_for("diagnose", progress)
    tell = teller(shown)
    try:
        forward = Forward(problem.distribution)
        states = last_states(run)
        diagnosis = Diagnostics(
            subject=subject_of(run),
            distances=_distances(run),
            spectra=_spectra(run, problem, tell),
            factors=factor_spectra(run, states),
            connectivity=lines_between_draws(
                run,
                problem,
                forward,
                rows=rows,
                lines=options.lines,
                points=options.line_points,
                tell=tell,
            ),
            plane=plane_through_draws(
                run, problem, forward, rows=(rows + 1) // 2, points=options.plane_points, tell=tell
            ),
            convergence=_convergence(run, problem, forward, options.probes, tell),
            temperatures=temperatures(run, problem, states, tell),
        )
    finally:
        shown.close()
    diagnosis = msgspec.structs.replace(
        diagnosis, verdict=judge(with_findings(evidence_on(run), diagnosis))
    )
    run.write_artifact(DIAGNOSTICS, results.write(diagnosis))
    return diagnosis


def _distances(run: Run) -> results.DistancesResult | Skipped:
    d, d_bar = [], []
    for chain in range(run.chains):
        if len(run.index(chain)) > 1:
            moved = diagnostics.distances(run.draws_of(chain))
            d.append(moved.d.tolist())
            d_bar.append([_or_none(value) for value in moved.d_bar])
    if not d:
        return Skipped(reason="Distances need two draws of one chain.")
    return results.DistancesResult(d=d, d_bar=d_bar)


def _spectra(run: Run, problem: Problem, tell: Tell) -> results.SpectraResult | Skipped:
    uses = find_kernels(problem.distribution, run.like, problem.train.x[:1])
    if not uses:
        return Skipped(reason="The network has no convolutions and no dense layers.")
    parameters = {layer_name(name): name for name in uses}

    def kernels() -> Iterator[dict[str, np.ndarray]]:
        for number, params in enumerate(_chain_after_chain(run), start=1):
            arrays = to_arrays(params)
            yield {layer: arrays[name or ROOT] for layer, name in parameters.items()}
            tell("singular values", number, len(run))

    tracked = diagnostics.track_spectra(
        kernels(), lambda layer, kernel: singular_values(kernel, uses[parameters[layer]])
    )
    return results.SpectraResult(
        layers={
            layer: results.Extremes(
                largest=tracked.largest[:, i].tolist(),
                smallest=tracked.smallest[:, i].tolist(),
                condition=[_or_none(value) for value in tracked.condition[:, i]],
            )
            for i, layer in enumerate(tracked.layers)
        }
    )


def _chain_after_chain(run: Run) -> Iterator[Tree]:
    for chain in range(run.chains):
        yield from run.draws_of(chain)


def _convergence(
    run: Run, problem: Problem, forward: Forward, probes: int, tell: Tell
) -> results.ConvergenceResult | Skipped:
    chains, draws = run.chains, run.energies.shape[1]
    needed = fewest_draws(chains)
    if draws < needed:
        return Skipped(
            reason=f"R-hat of {chains} chain{'s' * (chains > 1)} needs {needed} draws a chain; "
            f"there are {draws}."
        )
    try:
        summary = diagnostics.function_space_convergence(
            followed(run, problem, forward, probes, tell), most=None
        )
        energies, energy = run.energies, {}
        if np.isfinite(energies).all():
            energy = {k: float(v) for k, v in diagnostics.convergence(energies)._asdict().items()}
    except UserError as missing:  # the extra `diag` is not there
        return Skipped(reason=str(missing))
    return results.ConvergenceResult(
        chains=chains,
        draws=draws,
        energy={name: to_number(value) for name, value in energy.items()},
        worst={name: to_number(value) for name, value in summary.worst.items()},
        median={name: to_number(value) for name, value in summary.median.items()},
        quantities=summary.quantities,
    )


def followed(
    run: Run, problem: Problem, forward: Forward, probes: int, tell: Tell | None = None
) -> np.ndarray:
    """What draws predict for evenly spaced test rows: (chains, draws, rows, numbers).

    A problem without test rows is probed on its training rows.
    """
    x = problem.train.x if problem.test is None else problem.test.x
    x = x[evenly(len(x), probes)]
    draws = run.energies.shape[1]
    values = []
    for chain in range(run.chains):
        for _, params in zip(range(draws), run.draws_of(chain), strict=False):
            values.append(problem.likelihood.followed(forward(params, x)[None])[0])
            if tell is not None:
                tell("predictions", len(values), draws * run.chains)
    return np.stack(values).reshape(run.chains, draws, *values[0].shape)


def _or_none(value: float) -> float | None:
    """JSON knows neither infinity nor NaN."""
    return float(value) if isfinite(value) else None
