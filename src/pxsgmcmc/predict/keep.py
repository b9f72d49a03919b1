"""Logits of stored draws, kept in files: a draw whose logits are there is not even read."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.predict.forward import logits_in_batches
from pxsgmcmc.predict.logits import LogitFile
from pxsgmcmc.types import Array, Tree


class StoredDraw(NamedTuple):
    """A draw that is read when it is needed."""

    digest: bytes  # 32 that identify it
    load: Callable[[], Tree]


def keep_logits(
    apply: Callable[[Tree, Array], Array],
    draws: Sequence[StoredDraw],
    sets: Sequence[tuple[Any, LogitFile]],
    *,
    batch_size: int = 1000,
    report: Callable[[int], None] | None = None,
) -> list[np.ndarray]:
    """Logits of every draw on some sets, each mapped, (draws, data, classes).

    Each draw is read once, and only if the file of a set does not have its logits.

    Args:
      apply: (parameters, inputs) -> logits, (batch, classes).
      draws: in the order in which the files have them.
      sets: inputs, (data, ...), and the file for their logits.
      batch_size: inputs at a time; fewer are filled up to it, so that sets of any size share one
        compiled program.
      report: called with the number of draws done, after each.

    Example:
      >>> import os, tempfile
      >>> x = np.ones((3, 2), np.float32)
      >>> draw = StoredDraw(b"1" * 32, lambda: np.eye(2, dtype=np.float32))
      >>> kept = LogitFile(os.path.join(tempfile.mkdtemp(), "a.logits"), x, classes=2)
      >>> keep_logits(lambda w, x: x @ w, [draw], [(x, kept)])[0].shape
      (1, 3, 2)
    """
    check_count("batch_size", batch_size, at_least=1)
    if not draws:
        raise UserError("`draws` must hold at least one draw, got none.")
    forward = jax.jit(apply)
    for number, draw in enumerate(draws):
        missing = [(x, kept) for x, kept in sets if not kept.has(number, draw.digest)]
        params = draw.load() if missing else None
        for x, kept in missing:
            batches = logits_in_batches(forward, params, x, batch_size, number)
            kept.append(number, draw.digest, (values for _, values in batches))
        if report is not None:
            report(number + 1)
    return [kept.array()[: len(draws)] for _, kept in sets]
