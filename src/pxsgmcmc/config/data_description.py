"""What a run keeps of its data set, so that it can predict where the data are not."""

from typing import Any

import msgspec
import numpy as np

from pxsgmcmc.data import Dataset, Split, Standardisation
from pxsgmcmc.errors import CorruptRun


class DataDescription(msgspec.Struct, frozen=True):
    """How inputs look, how they are scaled, and what the outputs are called.

    Attributes:
      name: of the data set.
      shape: of one input.
      dtype: of the inputs, as stored.
      mean: as in `Dataset`.
      std: as in `Dataset`.
      classes: names, in the order of the labels.
      feature_names: of the columns of a table.
      target_names: of a regression.
      targets: the scale of the targets of a regression.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    mean: tuple[float, ...]
    std: tuple[float, ...]
    classes: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()
    targets: Standardisation | None = None

    def dataset(self) -> Dataset:
        """A data set of a single empty row, through which new inputs are seen as the old were."""
        x = np.zeros((1, *self.shape), self.dtype)
        y = np.zeros(1, np.int32) if self.classes else np.zeros((1, len(self.target_names)), "f4")
        return Dataset(
            name=self.name,
            splits={"train": Split(x, y)},
            classes=self.classes,
            mean=self.mean,
            std=self.std,
            sha256="",
            feature_names=self.feature_names,
            target_names=self.target_names,
            targets=self.targets,
        )


def description_of(dataset: Dataset) -> DataDescription:
    """What to keep of a data set.

    Example:
      >>> from pxsgmcmc.data import load
      >>> description_of(load("two-moons")).classes
      ('upper', 'lower')
    """
    x = dataset.splits["train"].x
    return DataDescription(
        name=dataset.name,
        shape=x.shape[1:],
        dtype=str(x.dtype),
        mean=dataset.mean,
        std=dataset.std,
        classes=dataset.classes,
        feature_names=dataset.feature_names,
        target_names=dataset.target_names,
        targets=dataset.targets,
    )


def read_description(origin: dict[str, Any], place: Any) -> DataDescription | None:
    """What the manifest of a run has of its data; None if it was made without a configuration."""
    if origin.get("prepared") is None:
        return None
    try:
        kept = msgspec.convert(origin["prepared"], DataDescription)
        dtype = np.dtype(kept.dtype)
    except (msgspec.ValidationError, TypeError) as error:
        raise CorruptRun(f"`{place}` does not say what its inputs look like: {error}.") from None
    if dtype not in (np.dtype("uint8"), np.dtype("float32")) or not 0 < _size(kept) <= 2**31:
        raise CorruptRun(f"`{place}` says that its inputs are {kept.dtype} of shape {kept.shape}.")
    return kept


def _size(kept: DataDescription) -> int:
    size = 1
    for length in kept.shape:
        size *= max(length, 0)
    return size
