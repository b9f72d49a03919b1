"""The page on a fitted estimator, judged on held-out rows or on those it learned from."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from pxsgmcmc.errors import UserError


def write_page(estimator: Any, path: str | Path, held_out: Any, title: str | None) -> Path:
    """Write it; see `PXEstimator.report`."""
    run = estimator.run_[:]  # what is found out about a part of a run is not kept with it
    rows, judged = tuple(run.problem.train), "judged on the rows it was fitted to"
    if held_out is not None:
        if not isinstance(held_out, tuple | list) or len(held_out) != 2:
            raise UserError("`held_out` must be a pair (X, y).")
        found: Any = validate_data(
            estimator, *held_out, dtype=[np.float64, np.float32], multi_output=True, reset=False
        )
        x, y = found
        rows = x.astype(np.float32), estimator._known_targets(y)
        judged = f"judged on {len(x):,} held-out row{'s' if len(x) > 1 else ''}"
    run.problem = dataclasses.replace(run.problem, test=rows)
    return run.report(path, title=title or f"{type(estimator).__name__}, {judged}")


def known_labels(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Places of labels among the classes of a fit.

    Example:
      >>> known_labels(np.array(["b", "a"]), np.array(["a", "b", "c"])).tolist()
      [1, 0]
    """
    y = y.reshape(-1)
    strange = sorted(set(y.tolist()) - set(classes.tolist()), key=str)
    if strange:
        raise ValueError(
            f"Held-out labels must be among the fitted ones, {', '.join(map(str, classes[:10]))}; "
            f"got {strange[0]!r}."
        )
    return np.searchsorted(classes, y).astype(np.int32)
