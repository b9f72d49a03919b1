"""MNIST (LeCun et al., 1998) and Fashion-MNIST (Xiao et al., 2017): idx files, gzipped or not.

An idx file is two zero bytes, a type byte (8: unsigned bytes), the number of axes, the length of
each axis as a big-endian 32-bit number, and the entries row by row.
"""

import math
import struct

import numpy as np

from pxsgmcmc.data._assemble import assemble, halves, labels_within
from pxsgmcmc.data._faults import damaged
from pxsgmcmc.data._stored import Stored, read_files
from pxsgmcmc.data.dataset import Dataset, Split

MNIST_CLASSES = tuple("0123456789")
FASHION_CLASSES = (
    *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
    *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
)


def read_mnist(stored: Stored, *, records: int = 10_000) -> Dataset:
    """MNIST: the first 50,000 training images train, the last 10,000 validate, 10,000 test.

    Args:
      stored: the folder with the four files.
      records: images in the test file; the training file has six times as many.
    """
    splits = _read_splits(stored, records)
    return assemble("mnist", splits, MNIST_CLASSES, (0.1307,), (0.3081,))


def read_fashion_mnist(stored: Stored, *, records: int = 10_000) -> Dataset:
    """Fashion-MNIST, split as `read_mnist`."""
    splits = _read_splits(stored, records)
    return assemble("fashion-mnist", splits, FASHION_CLASSES, (0.2860,), (0.3530,))


def _read_splits(stored: Stored, records: int) -> dict[str, Split]:
    arrays = {}
    shapes = {}
    for part, rows in (("train", 6 * records), ("t10k", records)):
        shapes[f"{part}-images-idx3-ubyte"] = (rows, 28, 28)
        shapes[f"{part}-labels-idx1-ubyte"] = (rows,)
    files = read_files(stored, {name: 16 + math.prod(shape) for name, shape in shapes.items()})
    for name, shape in shapes.items():
        arrays[name] = parse_idx(files[name], stored.where(name), shape)
    train, test = (
        Split(
            arrays[f"{part}-images-idx3-ubyte"][..., None],
            labels_within(
                stored.where(f"{part}-labels-idx1-ubyte"), arrays[f"{part}-labels-idx1-ubyte"], 10
            ),
        )
        for part in ("train", "t10k")
    )
    assert train.y is not None
    return {**halves(train.x, train.y, 5 * records), "test": test}


def parse_idx(data: bytes, where: str, shape: tuple[int, ...]) -> np.ndarray:
    """The array of unsigned bytes in an idx file, which must have `shape`.

    Example:
      >>> parse_idx(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]), "labels", (2,))
      array([7, 9], dtype=uint8)
    """
    head = struct.pack(">BBBB", 0, 0, 8, len(shape)) + struct.pack(f">{len(shape)}I", *shape)
    if data[: len(head)] != head:
        raise damaged(where, f"is not an idx file of {' x '.join(map(str, shape))} bytes")
    if len(data) != len(head) + math.prod(shape):
        raise damaged(
            where, f"has {len(data):,} bytes where {len(head) + math.prod(shape):,} belong"
        )
    return np.frombuffer(data, np.uint8, offset=len(head)).reshape(shape)
