"""Whether labels or targets are classified or regressed, and their encoding."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pxsgmcmc.data._faults import damaged
from pxsgmcmc.data._read_split import RawSplit
from pxsgmcmc.data.check import check_labels, check_targets, encode_labels
from pxsgmcmc.data.dataset import Task
from pxsgmcmc.errors import UserError, one_line

_TASKS = ("classification", "regression")
_LABELS = ("codes", "names")


class Targets(NamedTuple):
    """What the training split says of y, by which y of every split is encoded.

    Attributes:
      classes: names in the order of their codes; empty for a regression.
      target_names: of a regression, in order.
      by_name: whether files hold the names of classes instead of codes.
      notes: sentences on what was guessed.
    """

    classes: tuple[str, ...]
    target_names: tuple[str, ...]
    by_name: bool
    notes: tuple[str, ...]

    def encode(self, split: RawSplit) -> np.ndarray:
        """The (n,) int32 labels or (n, targets) float32 targets of a split."""
        y = split.y
        assert y is not None
        if not self.classes:
            if y.dtype.kind in "US":
                raise damaged(split.y_file, f"holds text ({_first(y)})", "give numbers as targets")
            targets = check_targets(y, split.y_file)
            if targets.shape[1] != len(self.target_names):
                fault = f"has {targets.shape[1]} targets where train has {len(self.target_names)}"
                raise damaged(split.y_file, fault, "give the same columns")
            return targets
        if not self.by_name:
            return check_labels(_whole(y), len(self.classes), split.y_file)
        codes = {name: code for code, name in enumerate(self.classes)}
        names = [str(label) for label in _text(y).tolist()]
        strange = [row for row, name in enumerate(names) if name not in codes]
        if strange:
            fault = f"holds the label {one_line(names[strange[0]])} in row {strange[0]}"
            raise damaged(split.y_file, f"{fault}, which train does not have", "correct it")
        return np.array([codes[name] for name in names], np.int32)


def find_targets(train: RawSplit, spec: Mapping[str, Any]) -> Targets:
    """Classes or targets from the training split and the settings `task` and `labels`."""
    task, labels = spec.get("task"), spec.get("labels", "codes")
    if task is not None and task not in _TASKS:
        raise UserError(f"`data.task` must be one of {', '.join(_TASKS)}, got {one_line(task)}.")
    if labels not in _LABELS:
        raise UserError(
            f"`data.labels` must be one of {', '.join(_LABELS)}, got {one_line(labels)}."
        )
    y, where = train.y, train.y_file
    assert y is not None
    chosen = _task(y, where) if task is None else task
    notes = ()
    if task is None:
        kind = {"U": "text", "S": "text", "f": "real numbers"}.get(y.dtype.kind, "whole numbers")
        notes = (f"{chosen}, because y holds {kind}; the setting `task` decides",)
    if chosen == "regression":
        count = 1 if y.ndim == 1 else y.shape[1]
        numbered = ("y",) if count == 1 else tuple(f"y{place}" for place in range(count))
        return Targets((), train.target_names or numbered, False, notes)
    if y.ndim != 1:
        fault = f"holds y of shape {y.shape} where (n,) labels belong"
        raise damaged(where, fault, 'give one label a row, or set `task = "regression"`')
    if y.dtype.kind in "US" or labels == "names":
        names = encode_labels(_text(y), where)[1]
        return Targets(_at_least_two(names, where), (), True, notes)
    codes = _whole(y)
    if codes.dtype.kind == "f":
        check_labels(codes, None, where)
    _check_from_zero(codes, where)
    names = tuple(map(str, range(int(codes.max()) + 1)))
    return Targets(_at_least_two(names, where), (), False, notes)


def _task(y: np.ndarray, where: str) -> Task:
    kind, different = y.dtype.kind, len(np.unique(y))
    many = y.ndim == 2 or different > max(10, len(y) / 10)
    if kind == "f" and (many or not (np.isfinite(y) & (y == np.rint(y))).all()):
        return "regression"
    if kind != "f" and not many:
        return "classification"
    what = {"U": "texts", "S": "texts", "f": "whole numbers as floats"}.get(kind, "whole numbers")
    looks = "a regression" if many else "a classification"
    if kind in "US":
        looks = "no classes"
    raise damaged(
        where,
        f"holds {different:,} different {what} in {len(y):,} rows, which looks like {looks}",
        'set `task = "regression"` or `task = "classification"` to decide',
    )


def _check_from_zero(codes: np.ndarray, where: str) -> None:
    lowest, highest = int(codes.min()), int(codes.max())
    if lowest == 0:
        return
    if set(np.unique(codes)) == {-1, 1}:
        labels, remedy = "labels -1 and 1", "map them to 0 and 1"
    else:
        labels, remedy = f"labels from {lowest} to {highest}", f"subtract {lowest}"
    fault = f"holds {labels} where labels start at 0"
    raise damaged(where, fault, f'{remedy}, or set `labels = "names"` to take them as names')


def _at_least_two(names: tuple[str, ...], where: str) -> tuple[str, ...]:
    if len(names) < 2:
        raise damaged(where, f"holds one class only ({', '.join(names)})", "give rows of others")
    return names


def _text(y: np.ndarray) -> np.ndarray:
    return np.char.decode(y, "utf-8") if y.dtype.kind == "S" else np.asarray(y)


def _whole(y: np.ndarray) -> np.ndarray:
    """Labels written as floats become whole numbers; others are left for `check_labels` to name."""
    return y.astype(np.int64) if y.dtype.kind == "f" and (y == np.rint(y)).all() else y


def _first(y: np.ndarray) -> str:
    return one_line(str(y.reshape(-1)[0]))
