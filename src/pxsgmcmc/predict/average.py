"""The Bayesian model average, streamed: one draw in memory at a time, inputs in batches."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.predict.logits import LogitFile, digest_of
from pxsgmcmc.types import Array, Tree


class Predictive(NamedTuple):
    """What the draws predict together, in float64; entropies in nats.

    entropy = aleatoric + epistemic, row by row: what every draw finds uncertain, and what they
    disagree about (the mutual information of label and draw).
    """

    probabilities: np.ndarray  # (data, classes), mean over draws
    entropy: np.ndarray  # (data,)
    aleatoric: np.ndarray  # (data,)
    epistemic: np.ndarray  # (data,)
    draws: int


def predict(
    apply: Callable[[Tree, Array], Array],
    draws: Iterable[Tree],
    x: Any,
    *,
    batch_size: int = 1000,
    logits: LogitFile | None = None,
    report: Callable[[int], None] | None = None,
) -> Predictive:
    """Average the predictions of all draws; memory does not grow with their number.

    Args:
      apply: (parameters, inputs) -> logits, (batch, classes).
      draws: parameters, one tree a draw; a generator or `Samples` is read once, in order.
      x: inputs, (data, ...); a memory-mapped array is read batch by batch.
      batch_size: inputs at a time on the device.
      logits: keep each draw's logits in this file; draws that are in it already are not evaluated.
      report: called with the number of draws done, after each.

    Example:
      >>> apply = lambda w, x: x @ w
      >>> predict(apply, [np.eye(2), -np.eye(2)], np.ones((1, 2))).probabilities.tolist()
      [[0.5, 0.5]]
    """
    check_count("batch_size", batch_size, at_least=1)
    if not len(x):
        raise UserError("`x` must hold at least one input, got none.")
    forward = jax.jit(apply)
    total = aleatoric = None
    count = 0
    for number, params in enumerate(draws):
        batches = _logits_of(forward, params, x, batch_size, logits, number)
        for rows, values in batches:
            log_p = _log_softmax(_checked(values, number, rows))
            if total is None or aleatoric is None:
                total = np.zeros((len(x), log_p.shape[1]))
                aleatoric = np.zeros(len(x))
            p = np.exp(log_p)
            total[rows] += p
            aleatoric[rows] -= np.sum(p * log_p, axis=1)
        count += 1
        if report is not None:
            report(count)
    if total is None or aleatoric is None:
        raise UserError("`draws` must hold at least one draw, got none.")
    total /= count
    aleatoric /= count
    entropy = -np.sum(total * np.log(np.where(total > 0.0, total, 1.0)), axis=1)
    return Predictive(total, entropy, aleatoric, np.maximum(entropy - aleatoric, 0.0), count)


def _logits_of(
    forward: Callable[[Tree, Any], Array],
    params: Tree,
    x: Any,
    batch_size: int,
    kept: LogitFile | None,
    number: int,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Slices of rows with their logits, from the file if it has them, else computed."""
    if kept is None:
        yield from _evaluate(forward, params, x, batch_size)
        return
    digest = digest_of(params)
    if not kept.has(number, digest):
        kept.append(
            number, digest, (values for _, values in _evaluate(forward, params, x, batch_size))
        )
    stored = kept.read(number)
    for start in range(0, len(x), batch_size):
        rows = slice(start, min(start + batch_size, len(x)))
        yield rows, stored[rows]


def _evaluate(
    forward: Callable[[Tree, Any], Array], params: Tree, x: Any, batch_size: int
) -> Iterator[tuple[slice, np.ndarray]]:
    size = min(batch_size, len(x))
    for start in range(0, len(x), size):
        batch = np.asarray(x[start : start + size])
        missing = size - len(batch)
        if missing:  # the last batch is filled up, so that one compiled program serves all
            batch = np.concatenate([batch, np.repeat(batch[-1:], missing, axis=0)])
        values = np.asarray(forward(params, batch))
        yield slice(start, start + size - missing), values[: size - missing]


def _checked(values: np.ndarray, number: int, rows: slice) -> np.ndarray:
    if values.ndim != 2:
        raise UserError(f"`apply` must give logits (batch, classes), got shape {values.shape}.")
    if not np.isfinite(values).all():
        raise UserError(
            f"Draw {number + 1} gives logits that are not finite, for inputs {rows.start} to "
            f"{rows.stop - 1}."
        )
    return values.astype(np.float64)


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
