"""A run as an ArviZ DataTree, for ArviZ's own plots and summaries."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from pxsgmcmc import diagnostics
from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.evaluate.diagnose import followed
from pxsgmcmc.predict import Forward
from pxsgmcmc.run import Run
from pxsgmcmc.tree import paths, to_arrays

if TYPE_CHECKING:
    from xarray import DataTree


def run_to_datatree(run: Run, names: str = "*", rows: int = 50) -> DataTree:
    """Draws, energies and predictions of a run, with axes chain and draw.

    Chains that are not equally long are cut to the shortest.

    Args:
      run: its draws.
      names: pattern of the parameters to hold in memory, such as "head/*".
      rows: test rows, evenly spaced, whose predictions are kept; 0 for none.

    Example: see `docs/diagnostics.md`.
    """
    check_count("rows", rows)
    known = paths(run.like)
    chosen = [name for name in known if fnmatchcase(name, names)]
    if not chosen:
        raise UserError(f"`names` matches no parameter: {names!r}; known: {', '.join(known)}.")
    energies = run.energies
    if not energies.size:
        raise UserError("There must be a draw in every chain, and one has none yet.")
    predictions = None
    if rows and run.problem is not None:
        predictions = followed(run, run.problem, Forward(run.problem.distribution), rows)
    return diagnostics.to_datatree(
        {name: np.stack(arrays) for name, arrays in _posterior(run, chosen).items()},
        energy=energies,
        predictions=predictions,
    )


def _posterior(run: Run, chosen: list[str]) -> dict[str, list[np.ndarray]]:
    """Parameter -> its draws, (draws, ...), of each chain."""
    draws = run.energies.shape[1]
    arrays: dict[str, list[np.ndarray]] = {name: [] for name in chosen}
    for chain in range(run.chains):
        kept = [
            {name: array for name, array in to_arrays(params).items() if name in arrays}
            for _, params in zip(range(draws), run.draws_of(chain), strict=False)
        ]
        for name in chosen:
            arrays[name].append(np.stack([one[name] for one in kept]))
    return arrays
