"""A fitted estimator's run with rows to judge it on, held out or those that it learned from."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from pxsgmcmc.errors import UserError
from pxsgmcmc.run import Run


def write_page(estimator: Any, path: str | Path, held_out: Any, title: str | None) -> Path:
    """Write it; see `PXEstimator.report`."""
    if held_out is None:
        run, judged = estimator.run_, "the rows it was fitted to"
        run = run.judged_on(run.problem.train)
    elif isinstance(held_out, tuple | list) and len(held_out) == 2:
        run = judged_on(estimator, *held_out)
        count = len(held_out[0])
        judged = f"{count:,} held-out row{'s' if count > 1 else ''}"
    else:
        raise UserError("`held_out` must be a pair (X, y).")
    return run.report(path, title=title or f"{type(estimator).__name__}, judged on {judged}")


def judged_on(estimator: Any, X: Any, y: Any) -> Run:
    """The run with these rows as test rows; see `PXEstimator.run_on`."""
    check_is_fitted(estimator)
    found: Any = validate_data(
        estimator, X, y, dtype=[np.float64, np.float32], multi_output=True, reset=False
    )
    x, y = found
    return estimator.run_.judged_on((x.astype(np.float32), estimator._known_targets(y)))


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
