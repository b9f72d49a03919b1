"""CIFAR-10 and CIFAR-100 (Krizhevsky, 2009), from the binary form or the python form.

Binary: records of one label byte (CIFAR-100: coarse, then fine) and 3,072 pixel bytes, the red,
green and blue planes row by row. Python: a pickled dictionary of the same bytes, read without
unpickling. Both give the same arrays in the same order.
"""

from typing import Any

import numpy as np

from pxsgmcmc.data._assemble import assemble, halves, labels_within
from pxsgmcmc.data._faults import damaged
from pxsgmcmc.data._restricted_pickle import read_pickled_arrays
from pxsgmcmc.data._stored import Stored, read_files
from pxsgmcmc.data.dataset import Dataset, Split

CIFAR10_CLASSES = tuple(
    "airplane automobile bird cat deer dog frog horse ship truck".split(),
)
CIFAR100_CLASSES = tuple(
    """apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus
    butterfly camel can castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab
    crocodile cup dinosaur dolphin elephant flatfish forest fox girl hamster house kangaroo keyboard
    lamp lawn_mower leopard lion lizard lobster man maple_tree motorcycle mountain mouse mushroom
    oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree plain plate poppy porcupine
    possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper snail snake
    spider squirrel streetcar sunflower sweet_pepper table tank telephone television tiger tractor
    train trout tulip turtle wardrobe whale willow_tree wolf woman worm""".split()
)
# Of every set the CIFAR networks look at, as in Izmailov et al. (2021) and the reference code.
MEAN, STD = (0.49, 0.48, 0.44), (0.2, 0.2, 0.2)
PIXELS = 3 * 32 * 32

TRAIN_BATCHES = tuple(f"data_batch_{index}" for index in range(1, 6))
PYTHON_MD5 = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}


def read_cifar10_binary(stored: Stored, *, records: int = 10_000, train: int = 40_960) -> Dataset:
    """CIFAR-10 from cifar-10-batches-bin: the first 40,960 training images train, 9,040 validate.

    Args:
      stored: the archive or folder.
      records: images in each of the six files.
      train: how many of the five training files' images, in file order, are for training.
    """
    names = [f"{name}.bin" for name in (*TRAIN_BATCHES, "test_batch")]
    files = read_files(stored, {name: records * (1 + PIXELS) for name in names})
    parts = [
        parse_records(files[name], stored.where(name), records=records, classes=(10,))
        for name in names
    ]
    return _cifar("cifar10", parts, CIFAR10_CLASSES, train)


def read_cifar100_binary(stored: Stored, *, records: int = 10_000, train: int = 40_960) -> Dataset:
    """CIFAR-100 from cifar-100-binary: train.bin has five times `records` images; fine labels."""
    sizes = {"train.bin": 5 * records, "test.bin": records}
    files = read_files(stored, {name: rows * (2 + PIXELS) for name, rows in sizes.items()})
    parts = [
        parse_records(files[name], stored.where(name), records=rows, classes=(20, 100))
        for name, rows in sizes.items()
    ]
    return _cifar("cifar100", parts, CIFAR100_CLASSES, train)


def read_cifar10_python(stored: Stored, *, records: int = 10_000, train: int = 40_960) -> Dataset:
    """As `read_cifar10_binary`, from cifar-10-batches-py."""
    names = (*TRAIN_BATCHES, "test_batch")
    files = read_files(stored, {name: _pickle_limit(records) for name in names})
    parts = [
        parse_pickled(files[name], stored.where(name), records=records, key="labels", classes=10)
        for name in names
    ]
    return _cifar("cifar10", parts, CIFAR10_CLASSES, train)


def read_cifar100_python(stored: Stored, *, records: int = 10_000, train: int = 40_960) -> Dataset:
    """As `read_cifar100_binary`, from cifar-100-python."""
    sizes = {"train": 5 * records, "test": records}
    files = read_files(stored, {name: _pickle_limit(rows) for name, rows in sizes.items()})
    parts = [
        parse_pickled(files[name], stored.where(name), records=rows, key="fine_labels", classes=100)
        for name, rows in sizes.items()
    ]
    return _cifar("cifar100", parts, CIFAR100_CLASSES, train)


def parse_records(
    data: bytes, where: str, *, records: int, classes: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Images (records, 32, 32, 3) and labels of a binary file with one label byte per `classes`.

    The last label byte is the one returned; the others are checked.
    """
    row = len(classes) + PIXELS
    if len(data) != records * row:
        if data[:1] == b"\x80":
            raise damaged(
                where, "is the python form of CIFAR, not the binary form", "do not rename its files"
            )
        raise damaged(
            where, f"has {len(data):,} bytes where {records:,} records of {row} bytes belong"
        )
    rows = np.frombuffer(data, np.uint8).reshape(records, row)
    labels = [labels_within(where, rows[:, i], count) for i, count in enumerate(classes)]
    return _images(rows[:, len(classes) :]), labels[-1]


def parse_pickled(
    data: bytes, where: str, *, records: int, key: str, classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Images (records, 32, 32, 3) and labels of a python batch whose labels are under `key`."""
    batch = read_pickled_arrays(data, where)
    pixels, labels = batch.get("data"), batch.get(key)
    if not isinstance(pixels, np.ndarray) or not isinstance(labels, list) or not _whole(labels):
        raise damaged(where, f"lacks the array `data` or the list `{key}`")
    if pixels.dtype != np.uint8 or pixels.shape != (records, PIXELS) or len(labels) != records:
        raise damaged(
            where, f"does not hold {records:,} rows of {PIXELS:,} bytes with a label for each"
        )
    return _images(pixels), labels_within(where, np.array(labels, np.int64), classes)


def _whole(labels: list[Any]) -> bool:
    return all(type(label) is int and abs(label) < 1 << 31 for label in labels)


def _pickle_limit(records: int) -> int:
    # Besides its pixels a row has a label or two and a file name of a few dozen letters.
    return records * (PIXELS + 200) + 10_000


def _images(planes: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(planes.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))


def _cifar(
    name: str, parts: list[tuple[np.ndarray, np.ndarray]], classes: tuple[str, ...], train: int
) -> Dataset:
    *training, test = parts
    x, y = (np.concatenate(arrays) for arrays in zip(*training, strict=True))
    return assemble(name, {**halves(x, y, train), "test": Split(*test)}, classes, MEAN, STD)
