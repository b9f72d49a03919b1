"""STL-10 (Coates, Ng and Lee, 2011) as a shifted CIFAR-10 test set.

The nine classes that CIFAR-10 has too, under CIFAR-10's labels; monkeys are dropped and frogs are
absent, so a ten-way softmax is kept. 96 x 96 pixels become 32 x 32 by 3 x 3 area means.
"""

import numpy as np

from pxsgmcmc.data._assemble import area_mean, assemble, labels_within
from pxsgmcmc.data._cifar import CIFAR10_CLASSES, MEAN, STD
from pxsgmcmc.data._faults import damaged
from pxsgmcmc.data._stored import Stored, read_files
from pxsgmcmc.data.dataset import Dataset, Split

MD5 = {
    "test_X.bin": "7f263ba9f9e0b06b93213547f721ac82",
    "test_y.bin": "36f9794fa4beb8a2c72628de14fa638e",
}
SIDE = 96
DROPPED = -1
# airplane, bird, car, cat, deer, dog, horse, monkey, ship, truck -> CIFAR-10's labels.
CIFAR10_LABEL = np.array([0, 2, 1, 3, 4, 5, 7, DROPPED, 8, 9], np.int32)


def read_stl10(stored: Stored, *, records: int = 8_000) -> Dataset:
    """The 7,200 test images of stl10_binary that show a class of CIFAR-10, in file order.

    Args:
      stored: the archive or folder with test_X.bin and test_y.bin.
      records: images in test_X.bin.
    """
    files = read_files(stored, {"test_X.bin": records * 3 * SIDE * SIDE, "test_y.bin": records})
    x = parse_images(files["test_X.bin"], stored.where("test_X.bin"), records=records)
    y = parse_labels(files["test_y.bin"], stored.where("test_y.bin"), records=records)
    kept = y != DROPPED
    splits = {"test": Split(area_mean(x[kept], 3), y[kept])}
    return assemble("stl10", splits, CIFAR10_CLASSES, MEAN, STD)


def parse_images(data: bytes, where: str, *, records: int) -> np.ndarray:
    """(records, 96, 96, 3) images from three planes each, stored column by column."""
    if len(data) != records * 3 * SIDE * SIDE:
        raise damaged(
            where, f"has {len(data):,} bytes where {records:,} images of 3 x 96 x 96 bytes belong"
        )
    planes = np.frombuffer(data, np.uint8).reshape(records, 3, SIDE, SIDE)
    return planes.transpose(0, 3, 2, 1)


def parse_labels(data: bytes, where: str, *, records: int) -> np.ndarray:
    """CIFAR-10's labels, `DROPPED` for monkeys, from STL-10's 1..10."""
    if len(data) != records:
        raise damaged(where, f"has {len(data):,} bytes where {records:,} labels belong")
    return CIFAR10_LABEL[labels_within(where, np.frombuffer(data, np.uint8), 10, first=1) - 1]
