"""What a data set is: named splits, and the facts about it that must be written down only once."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from pxsgmcmc.data.standardise import Standardisation

Task = Literal["classification", "regression"]


class Split(NamedTuple):
    """Rows that belong together. Images are (n, height, width, channels) uint8, as stored."""

    x: np.ndarray  # (n, ...) uint8 images or float32 features
    y: np.ndarray | None  # (n,) int32 labels or (n, targets) float32 targets, if there are any


@dataclass(frozen=True)
class Dataset:
    """Splits and facts.

    Attributes:
      name: as in `load(name)`, or of the file of training inputs.
      splits: some of "train", "validation", "test"; an evaluation-only set has just "test", and
        CIFAR-10-C one for each corruption and severity, such as "fog-3".
      classes: class names in label order; empty for regression.
      mean: per channel, of images scaled to [0, 1] (of features as they are); what the network sees
        is (x / 255 - mean) / std.
      std: as `mean`.
      sha256: of the bytes of all splits in order, for the manifest of a run.
      feature_names: of the columns of a table, where they are known.
      target_names: of the targets of a regression, in order.
      targets: the scale of the targets of a regression, measured on the training split; the
        targets in `splits` are in their own units.
      shifts: further test sets by name, labelled like "test".
      out_of_distribution: sets by name of inputs that show nothing the network was trained on.
      notes: sentences on what was done to the user's files on reading.

    Example:
      >>> from pxsgmcmc.data import load
      >>> load("two-moons")
      Dataset: two-moons, 2 classes, train 600, validation 200, test 200 rows of float32[2]
    """

    name: str
    splits: dict[str, Split]
    classes: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    sha256: str
    feature_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()
    targets: Standardisation | None = None
    shifts: dict[str, Split] = field(default_factory=dict)
    out_of_distribution: dict[str, Split] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def task(self) -> Task | None:
        """What the labels or targets ask for; None for a set that has neither."""
        if self.classes:
            return "classification"
        return "regression" if self.target_names else None

    @property
    def inputs(self) -> Standardisation:
        """The scale of the inputs: `mean` and `std`."""
        return Standardisation(self.mean, self.std)

    def __repr__(self) -> str:
        """One line: the name, the task and how many rows; `summary` says more."""
        counts = [f"{name} {len(split.x):,}" for name, split in self.splits.items()]
        if len(counts) > 4:
            counts = [*counts[:3], f"{len(counts) - 3} more splits"]
        of = ""
        for split in list(self.splits.values())[:1]:
            of = f" rows of {split.x.dtype}{list(split.x.shape[1:])}"
        kinds = {
            "classification": f"{len(self.classes)} classes",
            "regression": f"regression of {', '.join(self.target_names[:3])}"
            + (" and others" if len(self.target_names) > 3 else ""),
        }
        task = kinds.get(self.task or "", "inputs alone")
        return f"Dataset: {self.name}, {task}, {', '.join(counts)}{of}"

    def summary(self) -> str:
        """What the set holds, as lines of text."""
        from pxsgmcmc.data._summary import summarise

        return summarise(self)
