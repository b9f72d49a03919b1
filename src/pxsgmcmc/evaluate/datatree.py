"""A run as an ArviZ DataTree, for ArviZ's own plots, summaries and `loo`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from pxsgmcmc import diagnostics
from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.evaluate.diagnose import followed
from pxsgmcmc.evaluate.diagnose_progress import evenly
from pxsgmcmc.predict import Forward
from pxsgmcmc.problem import Problem
from pxsgmcmc.run import Run
from pxsgmcmc.tree import paths
from pxsgmcmc.types import Tree

if TYPE_CHECKING:
    from xarray import DataTree


def run_to_datatree(
    run: Run,
    names: str | None = None,
    rows: int = 50,
    *,
    functions: Mapping[str, Callable[[Tree], Any]] | None = None,
    train_rows: int | None = None,
    seed: int = 0,
) -> DataTree:
    """Draws, energies, log-likelihoods and predictions of a run, with axes chain and draw.

    Chains that are not equally long are cut to the shortest.

    Args:
      run: its draws.
      names: pattern of the parameters to hold in memory, such as "head/*"; None for all of them,
        or for none if functions are given.
      rows: test rows, evenly spaced, whose predictions are kept; 0 for none.
      functions: name -> function of one draw, kept with the parameters.
      train_rows: training rows, evenly spaced, of which log-likelihood, draws of the target and the
        target itself are kept; None for all, 0 for none.
      seed: of the draws of the target.

    Example: see `docs/bridges.md`.
    """
    check_count("rows", rows)
    if train_rows is not None:
        check_count("train_rows", train_rows)
    chosen = _chosen(run, names, functions)
    posterior = run.stacked(_functions(chosen, functions or {}))
    groups: dict[str, Any] = {}
    problem = run.problem
    if problem is not None and rows:
        groups["predictions"] = followed(run, problem, Forward(problem.distribution), rows)
    if problem is not None and train_rows != 0:
        groups |= _of_training_rows(run, problem, train_rows, seed)
    return diagnostics.to_datatree(
        posterior,
        energy=run.energies if np.isfinite(run.energies).any() else None,
        acceptance=run.acceptance if np.isfinite(run.acceptance).any() else None,
        **groups,
    )


def _chosen(run: Run, names: str | None, functions: Any) -> list[str]:
    if names is None and functions:
        return []
    known = paths(run.like)
    chosen = [name for name in known if fnmatchcase(name, "*" if names is None else names)]
    if not chosen:
        raise UserError(f"`names` matches no parameter: {names!r}; known: {', '.join(known)}.")
    return chosen


def _functions(
    chosen: list[str], functions: Mapping[str, Callable[[Tree], Any]]
) -> Callable[[Tree], dict[str, Any]]:
    """One function of a draw: the chosen parameters, and what is made of it."""

    def of(params: Tree) -> dict[str, Any]:
        leaves = dict(zip(paths(params), jax.tree.leaves(params), strict=True))
        made = {name: function(params) for name, function in functions.items()}
        # A position that is one bare array has no name.
        return {name or "value": leaves[name] for name in chosen} | made

    return of


def _of_training_rows(
    run: Run, problem: Problem, rows: int | None, seed: int
) -> dict[str, np.ndarray]:
    """Log-likelihood, posterior predictive draws and targets of training rows."""
    x, y = problem.train
    assert y is not None
    places = evenly(len(x), len(x) if rows is None else rows)
    x, y = x[places], y[places]
    forward = Forward(problem.distribution)
    log_prob = jax.jit(problem.likelihood.log_prob)
    simulate = getattr(problem.likelihood, "simulate", None)
    rng = np.random.default_rng(seed)
    fits, simulated = [], []
    draws = run.energies.shape[1]
    for chain in range(run.chains):
        for _, params in zip(range(draws), run.draws_of(chain), strict=False):
            distribution = forward(params, x)
            fits.append(np.asarray(log_prob(distribution, y)))
            if simulate is not None:
                simulated.append(simulate(distribution, rng).reshape(y.shape))
    shape = (run.chains, draws)
    one_target = y.ndim == 2 and y.shape[1] == 1
    groups = {
        "log_likelihood": np.stack(fits).reshape(*shape, -1),
        "observed": y[:, 0] if one_target else y,
    }
    if simulated:
        inner = y.shape[:1] if one_target else y.shape
        groups["posterior_predictive"] = np.stack(simulated).reshape(*shape, *inner)
    return groups
