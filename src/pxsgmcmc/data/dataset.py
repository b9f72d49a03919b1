"""What a data set is: named splits, and the facts about it that must be written down only once."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Split(NamedTuple):
    """Rows that belong together. Images are (n, height, width, channels) uint8, as stored."""

    x: np.ndarray  # (n, ...) uint8 images or float32 features
    y: np.ndarray | None  # (n,) int32 labels or (n, outputs) float32 targets, if there are any


@dataclass(frozen=True)
class Dataset:
    """Splits and facts.

    Attributes:
      name: as in `load(name)`.
      splits: some of "train", "validation", "test"; an evaluation-only set has just "test", and
        CIFAR-10-C one for each corruption and severity, such as "fog-3".
      classes: class names in label order; empty for regression.
      mean: per channel, of images scaled to [0, 1] (of features as they are); what the network sees
        is (x / 255 - mean) / std.
      std: as `mean`.
      sha256: of the bytes of all splits in order, for the manifest of a run.
    """

    name: str
    splits: dict[str, Split]
    classes: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    sha256: str
