"""A run as an ArviZ DataTree, for ArviZ's own plots and summaries."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pxsgmcmc import diagnostics
from pxsgmcmc.chain.record import to_arrays
from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.evaluation.diagnose import probabilities
from pxsgmcmc.evaluation.forward import Forward
from pxsgmcmc.evaluation.load import Opened, open_experiment
from pxsgmcmc.tree import paths

if TYPE_CHECKING:
    from xarray import DataTree


def run_to_datatree(directory: str | Path, names: str = "*", probes: int = 50) -> DataTree:
    """Draws, energies and predictions of a run, with axes chain and draw.

    Chains that are not equally long are cut to the shortest.

    Args:
      directory: of the run, as given to `pxsgmcmc run --out`; several chains are taken together.
      names: pattern of the parameters to hold in memory, such as "head/*".
      probes: test rows, evenly spaced, whose predicted probabilities are kept; 0 for none.

    Example: see `docs/diagnostics.md`.
    """
    check_count("probes", probes)
    opened = open_experiment(directory)
    known = paths(opened.like)
    chosen = [name for name in known if fnmatchcase(name, names)]
    if not chosen:
        raise UserError(f"`names` matches no parameter: {names!r}; known: {', '.join(known)}.")
    draws = min(len(run.draws) for run in opened.runs)
    if not draws:
        raise UserError(f"`{directory}` has a chain without draws yet; let it run on.")
    energies = np.array([[d.energy for d in run.draws[:draws]] for run in opened.runs], float)
    forward = Forward(opened.experiment.apply)
    return diagnostics.to_datatree(
        {name: np.stack(arrays) for name, arrays in _posterior(opened, chosen, draws).items()},
        energy=energies,
        predictions=probabilities(opened, forward, draws, probes) if probes else None,
    )


def _posterior(opened: Opened, chosen: list[str], draws: int) -> dict[str, list[np.ndarray]]:
    """Parameter -> its draws, (draws, ...), of each chain."""
    found: dict[str, list[np.ndarray]] = {name: [] for name in chosen}
    for chain in range(len(opened.runs)):
        kept = [
            {name: array for name, array in to_arrays(params).items() if name in found}
            for _, params in zip(range(draws), opened.draws_of(chain), strict=False)
        ]
        for name in chosen:
            found[name].append(np.stack([arrays[name] for arrays in kept]))
    return found
