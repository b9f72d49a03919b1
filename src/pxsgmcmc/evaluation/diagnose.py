"""What a run did and whether to believe it: all diagnostics of a run directory.

What a run is too short for is skipped, with the reason.
"""

from collections.abc import Iterator
from math import isfinite
from pathlib import Path

import msgspec
import numpy as np

from pxsgmcmc import diagnostics, results
from pxsgmcmc.chain.record import to_arrays
from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.evaluation.artifacts import check_writable
from pxsgmcmc.evaluation.between import lines_between_draws, plane_through_draws
from pxsgmcmc.evaluation.forward import Forward, evenly
from pxsgmcmc.evaluation.kernels import find_kernels, layer_name, singular_values
from pxsgmcmc.evaluation.last_state import Report, factor_spectra, last_states, temperatures
from pxsgmcmc.evaluation.load import Opened, open_experiment
from pxsgmcmc.evaluation.worries import worries
from pxsgmcmc.metrics import log_softmax
from pxsgmcmc.results import Diagnostics, Skipped
from pxsgmcmc.types import Tree

NAME = "eval/diagnostics.json"


def diagnose(
    directory: str | Path,
    *,
    rows: int = 1000,
    lines: int = 10,
    line_points: int = 11,
    plane_points: int = 21,
    probes: int = 50,
    report: Report | None = None,
) -> Diagnostics:
    """Look into a run, and keep what was found as eval/diagnostics.json beside its draws.

    Args:
      directory: of the run, as given to `pxsgmcmc run --out`; several chains are taken together.
      rows: training rows, at most, on which the error on lines between draws is measured; half as
        many for the plane, which has far more points.
      lines: between so many pairs of consecutive draws, at most, evenly chosen.
      line_points: on each line, its ends among them.
      plane_points: on each side of the grid over the plane; 0 leaves the plane out.
      probes: test rows whose probabilities are followed over the draws.
      report: told of progress.

    Example: see `docs/diagnostics.md`.
    """
    check_count("rows", rows, at_least=1)
    check_count("lines", lines, at_least=1)
    check_count("line_points", line_points, at_least=2)
    check_count("plane_points", plane_points)
    check_count("probes", probes, at_least=1)
    opened, tell = open_experiment(directory), report or _silent
    check_writable(opened.path)
    forward = Forward(opened.experiment.apply)
    states = last_states(opened)
    found = Diagnostics(
        subject=opened.subject,
        distances=_distances(opened),
        spectra=_spectra(opened, tell),
        factors=factor_spectra(opened, states),
        connectivity=lines_between_draws(
            opened, forward, rows=rows, lines=lines, points=line_points, tell=tell
        ),
        plane=plane_through_draws(
            opened, forward, rows=(rows + 1) // 2, points=plane_points, tell=tell
        ),
        convergence=_convergence(opened, forward, probes, tell),
        temperatures=temperatures(opened, states, tell),
    )
    found = msgspec.structs.replace(found, worries=worries(found))
    opened.write_artifact(NAME, results.write(found))
    return found


def _silent(what: str, done: int, of: int) -> None:
    pass


def _distances(opened: Opened) -> results.Distances | Skipped:
    d, d_bar = [], []
    for chain, run in enumerate(opened.runs):
        if len(run.draws) > 1:
            found = diagnostics.distances(opened.draws_of(chain))
            d.append(found.d.tolist())
            d_bar.append([_or_none(value) for value in found.d_bar])
    if not d:
        return Skipped(reason="Distances need two draws of one chain.")
    return results.Distances(d=d, d_bar=d_bar)


def _spectra(opened: Opened, tell: Report) -> results.Spectra | Skipped:
    x = opened.experiment.train[0][:1]
    uses = find_kernels(opened.experiment.apply, opened.like, x)
    if not uses:
        return Skipped(reason="The network has no convolutions and no dense layers.")
    parameters = {layer_name(name): name for name in uses}

    def kernels() -> Iterator[dict[str, np.ndarray]]:
        for number, params in enumerate(_chain_after_chain(opened), start=1):
            arrays = to_arrays(params)
            yield {layer: arrays[name] for layer, name in parameters.items()}
            tell("singular values", number, opened.subject.draws)

    found = diagnostics.track_spectra(
        kernels(), lambda layer, kernel: singular_values(kernel, uses[parameters[layer]])
    )
    return results.Spectra(
        layers={
            layer: results.Extremes(
                largest=found.largest[:, i].tolist(),
                smallest=found.smallest[:, i].tolist(),
                condition=[_or_none(value) for value in found.condition[:, i]],
            )
            for i, layer in enumerate(found.layers)
        }
    )


def _chain_after_chain(opened: Opened) -> Iterator[Tree]:
    for chain in range(len(opened.runs)):
        yield from opened.draws_of(chain)


def _convergence(
    opened: Opened, forward: Forward, probes: int, tell: Report
) -> results.Convergence | Skipped:
    chains, draws = len(opened.runs), min(len(run.draws) for run in opened.runs)
    needed = 8 if chains == 1 else 4
    if draws < needed:
        return Skipped(
            reason=f"R-hat of {chains} chain{'s' * (chains > 1)} needs {needed} draws a chain; "
            f"there are {draws}."
        )
    try:
        summary = diagnostics.function_space_convergence(
            probabilities(opened, forward, draws, probes, tell), most=None
        )
        energies = np.array([[d.energy for d in run.draws[:draws]] for run in opened.runs], float)
        energy = {}
        if np.isfinite(energies).all():
            energy = {k: float(v) for k, v in diagnostics.convergence(energies)._asdict().items()}
    except UserError as problem:  # the extra `diag` is not there
        return Skipped(reason=str(problem))
    return results.Convergence(
        chains=chains,
        draws=draws,
        energy={name: _or_none(value) for name, value in energy.items()},
        worst={name: _or_none(value) for name, value in summary.worst.items()},
        median={name: _or_none(value) for name, value in summary.median.items()},
        quantities=summary.quantities,
    )


def probabilities(
    opened: Opened, forward: Forward, draws: int, probes: int, tell: Report = _silent
) -> np.ndarray:
    """Of the first draws of each chain on evenly spaced test rows: (chains, draws, rows, classes).

    A data set without a test split is probed on its training rows.
    """
    splits = opened.experiment.dataset.splits
    x = splits["test"].x if "test" in splits else opened.experiment.train[0]
    x = x[evenly(len(x), probes)]
    found = []
    for chain in range(len(opened.runs)):
        for _, params in zip(range(draws), opened.draws_of(chain), strict=False):
            found.append(np.exp(log_softmax(forward(params, x))))
            tell("predictions", len(found), draws * len(opened.runs))
    return np.stack(found).reshape(len(opened.runs), draws, *found[0].shape)


def _or_none(value: float) -> float | None:
    """JSON knows no infinity."""
    return float(value) if isfinite(value) else None
