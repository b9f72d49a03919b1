"""A data set in a few lines of text: what was read, and what the network will see of it."""

from collections.abc import Iterator

import numpy as np

from pxsgmcmc.data.dataset import Dataset, Split

_MOST_CLASSES = 12  # counted one by one; of more, only the smallest and largest count


def summarise(dataset: Dataset) -> str:
    """Rows, shapes, types, classes or targets, scale; one line each.

    Example:
      >>> from pxsgmcmc.data import load
      >>> print(summarise(load("two-moons")))
      two-moons: classification into 2 classes, no missing values
        train: 600 rows, x (2) float32, upper (300), lower (300)
        validation: 200 rows, x (2) float32, upper (99), lower (101)
        test: 200 rows, x (2) float32, upper (101), lower (99)
        inputs standardised by mean 0.5, 0.25 and standard deviation 0.89, 0.53
    """
    kinds = {
        "": dataset.splits,
        "shift ": dataset.shifts,
        "out of distribution ": dataset.out_of_distribution,
    }
    lines = [f"{dataset.name}: {_task(dataset)}, no missing values"]
    for kind, splits in kinds.items():
        lines += [f"{kind}{name}: {_rows(rows, dataset)}" for name, rows in splits.items()]
    return "\n  ".join([*lines, *_scales(dataset), *dataset.notes])


def _task(dataset: Dataset) -> str:
    if dataset.task == "classification":
        return f"classification into {len(dataset.classes)} classes"
    if dataset.task == "regression":
        return f"regression of {_listed(dataset.target_names)}"
    return "inputs alone"


def _rows(rows: Split, dataset: Dataset) -> str:
    shape = " x ".join(map(str, rows.x.shape[1:]))
    text = f"{len(rows.x):,} rows, x ({shape}) {rows.x.dtype}"
    if rows.y is None:
        return f"{text}, no labels"
    if dataset.classes:
        return f"{text}, {_counts(rows.y, dataset.classes)}"
    ranges = zip(dataset.target_names, rows.y.min(axis=0), rows.y.max(axis=0), strict=True)
    return f"{text}, " + ", ".join(f"{name} from {a:.4g} to {b:.4g}" for name, a, b in ranges)


def _counts(labels: np.ndarray, classes: tuple[str, ...]) -> str:
    counts = np.bincount(labels, minlength=len(classes))
    if len(classes) > _MOST_CLASSES:
        return f"{len(classes)} classes of {counts.min():,} to {counts.max():,} rows"
    return ", ".join(f"{name} ({count:,})" for name, count in zip(classes, counts, strict=True))


def _scales(dataset: Dataset) -> Iterator[str]:
    for what, scale in (("inputs", dataset.inputs), ("targets", dataset.targets)):
        if scale is None:
            continue
        if set(scale.mean) == {0.0} and set(scale.std) == {1.0}:
            yield f"{what} not standardised"
        else:
            mean, std = (_listed([f"{value:.4g}" for value in v]) for v in (scale.mean, scale.std))
            yield f"{what} standardised by mean {mean} and standard deviation {std}"


def _listed(words: tuple[str, ...] | list[str], most: int = 6) -> str:
    shown = ", ".join(words[:most])
    return shown if len(words) <= most else f"{shown}, ... ({len(words)} in all)"
