"""What stored draws say, kept in files: a draw whose rows are there is not even read."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pxsgmcmc.errors import UserError
from pxsgmcmc.predict.forward import Forward
from pxsgmcmc.predict.output_cache import OutputCache
from pxsgmcmc.types import Tree


class StoredDraw(NamedTuple):
    """A draw that is read when it is needed."""

    digest: bytes  # 32 that identify it
    load: Callable[[], Tree]


def keep_outputs(
    forward: Forward,
    draws: Sequence[StoredDraw],
    sets: Sequence[tuple[Any, OutputCache]],
    *,
    report: Callable[[int], None] | None = None,
) -> list[np.ndarray]:
    """What every draw says of some sets, each mapped, (draws, rows, numbers).

    Each draw is read once, and only if the file of a set does not have its rows.

    Args:
      forward: the network.
      draws: in the order in which the files have them.
      sets: inputs, (rows, ...), and the file for what is said of them.
      report: called with the number of draws done, after each.

    Example:
      >>> import os, tempfile
      >>> x = np.ones((3, 2), np.float32)
      >>> draw = StoredDraw(b"1" * 32, lambda: np.eye(2, dtype=np.float32))
      >>> kept = OutputCache(os.path.join(tempfile.mkdtemp(), "a.outputs"), x, numbers=2)
      >>> keep_outputs(Forward(lambda w, x: x @ w), [draw], [(x, kept)])[0].shape
      (1, 3, 2)
    """
    if not draws:
        raise UserError("There must be at least one draw, got none.")
    for number, draw in enumerate(draws):
        missing = [(x, kept) for x, kept in sets if not kept.has(number, draw.digest)]
        params = draw.load() if missing else None
        for x, kept in missing:
            rows = forward.batches(params, x, number)
            kept.append(number, draw.digest, (values for _, values in rows))
        if report is not None:
            report(number + 1)
    return [kept.array()[: len(draws)] for _, kept in sets]
