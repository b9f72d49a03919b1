"""Tasks to meta-train on: a data set, a kind of network, its width and depth, shortcuts or none."""

import functools
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from pxsgmcmc import data
from pxsgmcmc.errors import UserError, check_count, did_you_mean
from pxsgmcmc.types import Array

KINDS = ("dense", "conv")
MOST_ROWS = 4000  # of training data: those of a large set beyond these would only cost memory


class Task(NamedTuple):
    """A network and the data to fit it to."""

    data: str
    kind: str
    width: int
    depth: int
    residual: bool

    @property
    def label(self) -> str:
        """As a log or a table names it."""
        form = "residual" if self.residual else "plain"
        return f"{self.data} {self.kind} {self.width}x{self.depth} {form}"


class Family(NamedTuple):
    """Tasks whose arrays have the same shapes, so that one program unrolls any of them."""

    shape: tuple[int, ...]  # of an input
    classes: int
    kind: str
    width: int
    depth: int
    tasks: tuple[Task, ...]

    @property
    def form(self) -> "Family":
        """What a program depends on: all but the tasks themselves."""
        return self._replace(tasks=())


class TaskRows(NamedTuple):
    """The rows of one data set as a network sees them."""

    x: np.ndarray  # (rows, ...) float32
    y: np.ndarray  # (rows,) int32
    held_out_x: np.ndarray  # validation rows; test rows are never read here
    held_out_y: np.ndarray
    classes: int
    sha256: str


# Of widths and depths that the default grid does not have, the last two on other data as well.
HELD_OUT = (
    Task("digits", "dense", 24, 2, True),
    Task("digits", "conv", 6, 4, True),
    Task("mnist5k-14", "dense", 12, 4, False),
    Task("mnist5k-14", "conv", 6, 3, False),
    Task("mnist5k", "dense", 12, 2, True),
    Task("mnist5k", "conv", 6, 3, True),
    Task("breast_cancer", "dense", 20, 2, False),
    Task("wine", "dense", 12, 2, True),
)


def grid(
    data_sets: Sequence[str], kinds: Sequence[str], widths: Sequence[int], depths: Sequence[int]
) -> tuple[Task, ...]:
    """All combinations, plain and, where there is an inner layer, residual.

    Example:
      >>> [task.label for task in grid(["digits"], ["dense"], [8], [1, 2])]
      ['digits dense 8x1 plain', 'digits dense 8x2 plain', 'digits dense 8x2 residual']
    """
    for kind in kinds:
        if kind not in KINDS:
            raise UserError(f"`kinds` must be of {', '.join(KINDS)}; {did_you_mean(kind, KINDS)}")
    for name, values in {"widths": widths, "depths": depths}.items():
        for value in values:
            check_count(name, value, at_least=1)
    tasks = tuple(
        Task(name, kind, width, depth, residual)
        for name, kind, width, depth in itertools.product(data_sets, kinds, widths, depths)
        for residual in ((False, True) if depth > 1 else (False,))
    )
    if not tasks:
        raise UserError(
            "`data_sets`, `kinds`, `widths` and `depths` must each name at least one, or there are "
            "no tasks to train on."
        )
    return tasks


def families(tasks: Sequence[Task], root: str | None = None) -> tuple[Family, ...]:
    """The tasks, those of equal shapes together, in the order in which they first occur."""
    groups: dict[Any, list[Task]] = {}
    for task in tasks:
        rows = load_rows(task.data, root)
        shape = rows.x.shape[1:]
        if task.kind == "conv" and len(shape) != 3:
            raise UserError(
                f"`kinds` has conv, which needs images, and `data_sets` has {task.data}, which are "
                "none: leave one out."
            )
        groups.setdefault((shape, rows.classes, task.kind, task.width, task.depth), []).append(task)
    return tuple(Family(*shared, tasks=tuple(own)) for shared, own in groups.items())


class FamilyData(NamedTuple):
    """The rows of the data sets of a family, stacked: the first axis counts data sets."""

    x: Array
    y: Array
    held_out_x: Array
    held_out_y: Array


def family_data(family: Family, root: str | None = None) -> tuple[FamilyData, tuple[str, ...]]:
    """The rows of a family's data sets, as many of each as the smallest has, and their names."""
    names = tuple(dict.fromkeys(task.data for task in family.tasks))
    each = [load_rows(name, root) for name in names]
    rows = min(len(part.y) for part in each)
    held_out_rows = min(len(part.held_out_y) for part in each)
    counts = {"x": rows, "y": rows, "held_out_x": held_out_rows, "held_out_y": held_out_rows}
    stacked = {
        field: jnp.asarray(np.stack([getattr(part, field)[:count] for part in each]))
        for field, count in counts.items()
    }
    return FamilyData(**stacked), names


@functools.cache
def load_rows(name: str, root: str | None = None) -> TaskRows:
    """Training and validation rows of a data set for classification."""
    loaded = data.load(name, root=root)
    parts = [loaded.splits.get(split) for split in ("train", "validation")]
    if not loaded.classes or parts[0] is None:
        raise UserError(f"`data_sets` must be sets to train a classifier on, got {name!r}.")
    x, y = _seen(loaded, parts[0])
    if parts[1] is None:  # an official set: the last of its training rows
        x, y = x[: MOST_ROWS + 500], y[: MOST_ROWS + 500]
        return TaskRows(x[:-500], y[:-500], x[-500:], y[-500:], len(loaded.classes), loaded.sha256)
    held_out = _seen(loaded, parts[1])
    return TaskRows(x[:MOST_ROWS], y[:MOST_ROWS], *held_out, len(loaded.classes), loaded.sha256)


def _seen(loaded: data.Dataset, split: data.Split) -> tuple[np.ndarray, np.ndarray]:
    pixels = 255.0 if split.x.dtype == np.uint8 else 1.0
    x = (split.x / pixels - np.asarray(loaded.mean)) / np.asarray(loaded.std)
    assert split.y is not None
    return x.astype(np.float32), split.y.astype(np.int32)
