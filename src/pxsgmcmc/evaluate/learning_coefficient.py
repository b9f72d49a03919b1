"""The local learning coefficient of a run that sampled around trained weights."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import tree_flatten_with_path

from pxsgmcmc.diagnostics.learning_coefficient import LearningCoefficient, learning_coefficient
from pxsgmcmc.errors import UserError, check_count, one_line
from pxsgmcmc.problem import Problem
from pxsgmcmc.progress import Show, progress_for
from pxsgmcmc.run import Run
from pxsgmcmc.tree import path_name
from pxsgmcmc.types import Tree


def local_learning_coefficient(
    run: Run, weights: Tree, *, batch_size: int = 1000, progress: Show = False
) -> LearningCoefficient:
    """Estimate n β (E[L] - L(w*)), with its standard error, from draws around the weights w*.

    The run should have sampled at `temperature=log(n)` with a prior around the same weights,
    `px.priors.normal(variance, at=weights)`; L is the mean loss over all training rows, -log p.

    Args:
      run: draws around `weights`; leave out those on the way with `run.skip`.
      weights: of the network, where the run started.
      batch_size: rows at a time.
      progress: show it.

    Example: see docs/learning_coefficient.md.
    """
    if not isinstance(run, Run):
        raise UserError(f"`run` must be a `px.Run`, got {one_line(run)}.")
    problem = run.need_problem("local_learning_coefficient")
    temperature = run.origin.get("sampler", {}).get("temperature")
    if not temperature:
        raise UserError(
            "`run` must have a temperature above 0 in its manifest: sample with `temperature` = "
            "log of the number of rows."
        )
    check_count("batch_size", batch_size, at_least=1)
    _check_weights(weights, run[0])
    total = jax.jit(
        lambda params, x, y: jnp.sum(problem.log_likelihood(params, (x, y)), dtype=jnp.float32)
    )
    shown = progress_for("learning coefficient", progress)
    draws = min(len(run.index(chain)) for chain in range(run.chains))
    losses = np.empty((run.chains, draws))
    try:
        for chain in range(run.chains):
            for place, params in zip(range(draws), run.draws_of(chain), strict=False):
                losses[chain, place] = _mean_loss(problem, total, params, batch_size)
                done = chain * draws + place + 1
                shown.tell(done / losses.size, f"draw {done}/{losses.size}")
    finally:
        shown.close()
    rows = len(problem.train.x)
    at_weights = _mean_loss(problem, total, weights, batch_size)
    return learning_coefficient(losses, at_weights, rows=rows, temperature=temperature)


def _check_weights(weights: Tree, draw: Tree) -> None:
    shapes, wanted = (
        {path_name(path): np.shape(leaf) for path, leaf in tree_flatten_with_path(tree)[0]}
        for tree in (weights, draw)
    )
    if shapes != wanted:
        raise UserError(
            "`weights` must have the names and shapes of a draw, "
            f"{one_line(wanted)}, got {one_line(shapes)}."
        )


def _mean_loss(problem: Problem, total: Any, params: Tree, batch_size: int) -> float:
    x, y = problem.train
    starts = range(0, len(x), batch_size)
    sums = [
        float(total(params, x[start : start + batch_size], y[start : start + batch_size]))
        for start in starts
    ]
    return -sum(sums) / len(x)
