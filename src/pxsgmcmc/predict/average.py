"""The Bayesian model average, streamed: one draw in memory at a time, inputs in batches.

What is kept for N inputs and K classes, in float64 whatever the number of draws: the sum of the
probabilities, 8 N K bytes, and three entropies, 24 N. For 950,000 inputs and 10 classes these are
76 MB and 22.8 MB, 98.8 MB together. All else is as large as a batch.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.predict.forward import logits_in_batches
from pxsgmcmc.predict.logits import LogitFile, digest_of
from pxsgmcmc.types import Array, Tree

_BLOCK = 4096  # rows finished together


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
            log_p = _log_softmax(values.astype(np.float64))
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
    return _finish(total, aleatoric, count)


def _finish(total: np.ndarray, aleatoric: np.ndarray, count: int) -> Predictive:
    """Sums to means in place, block by block: a temporary of their size would double the memory."""
    total /= count
    aleatoric /= count
    entropy, epistemic = np.empty_like(aleatoric), np.empty_like(aleatoric)
    for start in range(0, len(total), _BLOCK):
        rows = slice(start, start + _BLOCK)
        p = total[rows]
        entropy[rows] = -np.sum(p * np.log(np.where(p > 0.0, p, 1.0)), axis=1)
        epistemic[rows] = np.maximum(entropy[rows] - aleatoric[rows], 0.0)
    return Predictive(total, entropy, aleatoric, epistemic, count)


def _logits_of(
    forward: Callable[[Tree, Any], Array],
    params: Tree,
    x: Any,
    batch_size: int,
    kept: LogitFile | None,
    number: int,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Slices of rows with their logits, from the file if it has them, else computed."""
    size = min(batch_size, len(x))
    if kept is None:
        yield from logits_in_batches(forward, params, x, size, number)
        return
    digest = digest_of(params)
    if not kept.has(number, digest):
        batches = logits_in_batches(forward, params, x, size, number)
        kept.append(number, digest, (values for _, values in batches))
    stored = kept.read(number)
    for start in range(0, len(x), size):
        rows = slice(start, min(start + size, len(x)))
        yield rows, stored[rows]


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
