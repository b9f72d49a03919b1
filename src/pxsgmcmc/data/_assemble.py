"""From the arrays in the files to a `Dataset`: labels checked, rows split, pixels shrunk."""

import numpy as np

from pxsgmcmc.data._faults import damaged
from pxsgmcmc.data._fingerprint import fingerprint
from pxsgmcmc.data.dataset import Dataset, Split


def assemble(
    name: str,
    splits: dict[str, Split],
    classes: tuple[str, ...],
    mean: tuple[float, ...],
    std: tuple[float, ...],
) -> Dataset:
    """A `Dataset` of image splits."""
    for split in splits.values():
        assert split.x.dtype == np.uint8 and split.x.ndim == 4 and split.x.shape[3] == len(mean)
        assert split.y is None or (split.y.dtype == np.int32 and len(split.y) == len(split.x))
    return Dataset(name, splits, classes, mean, std, fingerprint(splits))


def labels_within(where: str, labels: np.ndarray, classes: int, *, first: int = 0) -> np.ndarray:
    """`labels` as int32, once each is known to be one of `classes` whole numbers from `first` on.

    Example:
      >>> labels_within("y.npy", np.array([0, 9]), 10)
      array([0, 9], dtype=int32)
    """
    end = first + classes
    wrong = ~((labels >= first) & (labels < end) & (labels == np.trunc(labels)))  # NaN is wrong too
    if wrong.any():
        row = int(np.argmax(wrong))
        raise damaged(where, f"has label {labels[row]} in row {row}, outside {first}..{end - 1}")
    return labels.astype(np.int32)


def halves(x: np.ndarray, y: np.ndarray, first: int) -> dict[str, Split]:
    """The first rows as "train" and the others as "validation", in the order given."""
    return {"train": Split(x[:first], y[:first]), "validation": Split(x[first:], y[first:])}


def area_mean(x: np.ndarray, factor: int) -> np.ndarray:
    """Shrink (n, height, width, channels) uint8 images by the mean over factor x factor squares.

    The mean is rounded to the nearest whole number, halves up.

    Example:
      >>> area_mean(np.array([[0, 1], [2, 3]], np.uint8).reshape(1, 2, 2, 1), 2).item()
      2
    """
    n, height, width, channels = x.shape
    total = np.full((n, height // factor, width // factor, channels), factor**2 // 2, np.uint32)
    for row in range(factor):
        for column in range(factor):
            total += x[:, row::factor, column::factor]
    return (total // factor**2).astype(np.uint8)
