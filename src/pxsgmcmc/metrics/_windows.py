"""Sets of draws to average over: all of them, the first k, or a window that slides.

A window is folded with a ufunc (`add`, `maximum`) along the axis of draws. Every fold only ever
combines terms and never takes one back out, so small probabilities keep their digits, and all
windows together cost one or two passes over the draws.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Windows(NamedTuple):
    """Some windows over the draws and the way to fold an array over each of them."""

    sizes: np.ndarray  # (windows,) draws in each
    fold: Callable[[np.ufunc, np.ndarray], np.ndarray]  # (draws, ...) -> (windows, ...)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Average over the draws of each window, (draws, ...) -> (windows, ...)."""
        return self.fold(np.add, values) / self._counts(values)

    def log_mean_exp(self, logs: np.ndarray) -> np.ndarray:
        """Log of the average of exp over the draws of each window, as `mean` has it."""
        largest = logs.max(axis=0)
        safe = np.where(np.isfinite(largest), largest, 0.0)
        total = self.fold(np.add, np.exp(logs - safe))
        if total.min() > 0.0:
            log_total = np.log(total) + safe
        else:  # a window without the draw that sets `largest`, more than 700 nats below it
            log_total = self.fold(np.logaddexp, logs)
        return log_total - np.log(self._counts(logs))

    def _counts(self, values: np.ndarray) -> np.ndarray:
        return self.sizes.reshape(-1, *[1] * (values.ndim - 1))


def whole(draws: int) -> Windows:
    """One window with every draw."""
    return Windows(np.array([draws]), lambda ufunc, x: ufunc.reduce(x, axis=0, keepdims=True))


def firsts(counts: np.ndarray) -> Windows:
    """For each count the draws before it: the first `count` of them."""
    return Windows(counts, lambda ufunc, x: ufunc.accumulate(x, axis=0)[counts - 1])


def sliding(draws: int, width: int) -> Windows:
    """Every run of `width` consecutive draws, in order of its first draw."""
    first = np.arange(draws - width + 1)
    last = first + width - 1
    starts = range(0, draws, width)

    def fold(ufunc, x):
        if width == 1:
            return x
        # Cut the draws into blocks of `width`: a window is the tail of one block and the head of
        # the next (van Herk, 1992; Gil and Werman, 1993), or just one block.
        heads = np.concatenate([ufunc.accumulate(x[s : s + width], axis=0) for s in starts])
        tails = np.concatenate(
            [ufunc.accumulate(x[s : s + width][::-1], axis=0)[::-1] for s in starts]
        )
        windows = ufunc(tails[first], heads[last])
        one_block = first[first % width == 0]
        windows[one_block] = heads[one_block + width - 1]
        return windows

    return Windows(np.full(len(first), width), fold)
