"""From parameters drawn at random to some that fit: Adam on the energy, stopped in time."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from pxsgmcmc.chain.batches import Batches
from pxsgmcmc.errors import UserError, check_count, check_number, one_line
from pxsgmcmc.posterior import potential
from pxsgmcmc.problem import Problem, Rows
from pxsgmcmc.tree import check_float_leaves
from pxsgmcmc.tuning.flat_energy import FlatEnergy
from pxsgmcmc.types import Array, Tree

BATCH_SIZE = 128  # rows a step sees, unless there are fewer
BETWEEN_LOOKS = 20  # steps at least between two looks at the held-out rows
CHUNK = 1000  # held-out rows at a time
LEARNING_RATE, PATIENCE = 3e-3, 10
HELD_OUT = 0.1  # share of the training rows that are held out where there are no validation rows


def warm_start(
    problem: Problem,
    params: Tree,
    *,
    prior: Any = None,
    seed: int = 0,
    steps: int = 2000,
    batch_size: int | None = None,
    learning_rate: float = LEARNING_RATE,
    patience: int = PATIENCE,
) -> Tree:
    """Parameters near a mode of the posterior, for a chain to start from.

    Adam goes down the energy that the chain will sample, divided by the number of data. The log
    probability of the validation rows is looked at once an epoch, and the parameters that were best
    there are returned. Without validation rows, a tenth of the training rows, drawn with the seed,
    is held out for this alone. The same arguments give the same parameters. Several seeds give a
    deep ensemble.

    Args:
      problem: what is fitted to which data.
      params: where to begin, as `problem.initial(key)` or `problem.start(params)` gives it.
      prior: on the parameters, as in `px.potential`.
      seed: of the batches, and of the rows that are held out.
      steps: of Adam, at most.
      batch_size: rows a step sees; 128 unless given, or all if there are fewer.
      learning_rate: of Adam.
      patience: how many looks in a row may bring nothing better before it stops.

    Example:
      >>> import pxsgmcmc as px
      >>> x = np.linspace(-1.0, 1.0, 64, dtype=np.float32)[:, None]
      >>> problem = px.Problem(lambda w, x: x @ w, px.likelihoods.gaussian(noise=0.1),
      ...                      train=(x, 2.0 * x))
      >>> round(float(warm_start(problem, jnp.zeros(1), steps=1000, learning_rate=0.03)[0]), 1)
      2.0
    """
    if not isinstance(problem, Problem):
        raise UserError(f"`problem` must be a `px.Problem`, got {one_line(problem)}.")
    check_float_leaves("params", params)
    check_count("seed", seed)
    check_count("steps", steps)
    check_count("patience", patience, at_least=1)
    check_number("learning_rate", learning_rate, above=0.0)
    problem.check_network(params)
    energy = FlatEnergy(potential(problem, prior=prior), params)
    size = BATCH_SIZE if batch_size is None else check_count("batch_size", batch_size, at_least=1)
    if batch_size is not None and size > len(problem.train.x):
        raise UserError(
            f"`batch_size` must be at most the number of data, got {size} for "
            f"{len(problem.train.x)} data."
        )
    descent = Descent(problem, energy, batch_size=size, learning_rate=learning_rate)
    return descent(params, seed=seed, steps=steps, patience=patience)


class Descent:
    """Adam on an energy, compiled once for any number of starts.

    Args:
      problem: whose rows are learnt from, and whose validation rows say when to stop.
      energy: of the problem's parameters.
      batch_size: rows a step sees, or all if there are fewer to learn from.
      learning_rate: of Adam.
    """

    def __init__(
        self,
        problem: Problem,
        energy: FlatEnergy,
        *,
        batch_size: int,
        learning_rate: float = LEARNING_RATE,
    ):
        self.problem, self.energy, self.batch_size = problem, energy, batch_size
        self._adam = optax.adam(learning_rate)
        self._update = jax.jit(self._updated)
        self._augmented = jax.jit(problem.transform_batch) if problem.augment is not None else None
        self._log_likelihood = jax.jit(problem.log_likelihood)

    def __call__(self, params: Tree, *, seed: int, steps: int, patience: int = PATIENCE) -> Tree:
        """Parameters near a mode; arguments as in `warm_start`."""
        train, held_out = _train_and_held_out(self.problem, seed)
        assert train.y is not None
        size = min(self.batch_size, len(train.x))
        stream = Batches(jax.random.key(seed), data_size=len(train.x), batch_size=size)
        keys = jax.random.fold_in(jax.random.key(seed), 1)
        vector = jnp.asarray(self.energy.at(params).position)
        state = vector, self._adam.init(vector)
        between = max(BETWEEN_LOOKS, len(train.x) // size)
        best, lowest, since = params, self._loss(params, held_out), 0
        for first in range(0, steps, between):
            for number, rows in enumerate(stream.rows(first, min(between, steps - first)), first):
                batch = train.x[rows], train.y[rows]
                if self._augmented is not None:
                    batch = self._augmented(jax.random.fold_in(keys, number), batch)
                slope = self.energy.gradient(state[0], batch)
                state = self._update(slope, *state)
            here = self.energy.tree(state[0])
            now = self._loss(here, held_out)
            best, lowest, since = (here, now, 0) if now < lowest else (best, lowest, since + 1)
            if since == patience:
                break
        if not np.isfinite(lowest):
            raise UserError(
                "`params` must be where the energy is finite, and no step of Adam led there; start "
                "from smaller weights."
            )
        return best

    def _updated(self, gradient: Array, vector: Array, moments: Any) -> Any:
        scaled = gradient / len(self.problem.train.x)
        # Adam's powers of the step number mix kinds of numbers, which a user may have forbidden.
        with jax.numpy_dtype_promotion("standard"):
            updates, moments = self._adam.update(scaled, moments, vector)
        return optax.apply_updates(vector, updates), moments

    def _loss(self, params: Tree, rows: Rows) -> float:
        """Mean of minus the log probability of rows."""
        assert rows.y is not None
        total = 0.0
        for first in range(0, len(rows.x), CHUNK):
            part = slice(first, first + CHUNK)
            total += float(np.sum(self._log_likelihood(params, (rows.x[part], rows.y[part]))))
        mean = -total / len(rows.x)
        return mean if np.isfinite(mean) else float("inf")


def _train_and_held_out(problem: Problem, seed: int) -> tuple[Rows, Rows]:
    """Rows to learn from, and rows that say when to stop."""
    train = problem.train
    if problem.validation is not None:
        return train, problem.validation
    if len(train.x) < 2:
        raise UserError(
            "`problem` must have validation rows or at least two training rows to stop a warm "
            f"start in time, got {len(train.x)}."
        )
    order = np.random.default_rng(seed).permutation(len(train.x))
    count = max(1, round(HELD_OUT * len(order)))
    learnt, held_out = order[count:], order[:count]
    return Rows(train.x[learnt], train.y[learnt]), Rows(train.x[held_out], train.y[held_out])
