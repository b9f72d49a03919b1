"""SVHN's test set (Netzer et al., 2011), and as much of MATLAB's version 5 format as it needs.

A MAT file is a header of 128 bytes and a row of elements, each a type, a length and its bytes. A
matrix element holds elements of its own: flags, lengths of the axes, name, entries (first axis
fastest). A compressed element is a zlib stream of one element.

`scipy.io.loadmat` is not used: a single wrong byte in the type of an element makes it (1.17.1) read
outside its tables and end the process, where this has to say which file is damaged.
"""

import math
import struct
import zlib
from collections.abc import Iterator

import numpy as np

from pxsgmcmc.data._assemble import assemble, labels_within
from pxsgmcmc.data._cifar import MEAN, PIXELS, STD
from pxsgmcmc.data._faults import damaged
from pxsgmcmc.data._stored import Stored, read_files
from pxsgmcmc.data.dataset import Dataset, Split

FILE = "test_32x32.mat"
MATRIX, COMPRESSED = 14, 15
# Element type -> NumPy's name for the entries, less the byte order.
ENTRIES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8"}


def read_svhn(stored: Stored, *, records: int = 26_032) -> Dataset:
    """The 26,032 test images; digit 0, stored as label 10, is class 0."""
    limit = records * (PIXELS + 8) + 100_000
    data = read_files(stored, {FILE: limit})[FILE]
    where = stored.where(FILE)
    arrays = parse_mat(data, where, most_bytes=limit)
    x, y = arrays.get("X"), arrays.get("y")
    if x is None or y is None:
        raise damaged(where, "lacks the array `X` or `y`")
    if x.dtype != np.uint8 or x.shape != (32, 32, 3, records) or y.size != records:
        raise damaged(where, f"does not hold {records:,} images of 32 x 32 x 3 with their labels")
    images = np.ascontiguousarray(x.transpose(3, 0, 1, 2))
    labels = labels_within(where, y.reshape(-1), 10, first=1)
    splits = {"test": Split(images, labels % 10)}
    return assemble("svhn", splits, tuple("0123456789"), MEAN, STD)


def parse_mat(data: bytes, where: str, *, most_bytes: int) -> dict[str, np.ndarray]:
    """The numeric arrays of a MAT file by name.

    Args:
      data: the bytes of the file.
      where: its name in messages.
      most_bytes: what a compressed element may unpack to.
    """
    order = {b"IM": "<", b"MI": ">"}.get(data[126:128])
    if order is None or len(data) < 136:
        raise damaged(where, "is not a MATLAB version 5 file")
    arrays = {}
    for kind, content in _elements(data[128:], order, where):
        if kind == COMPRESSED:
            kind, content = _unpacked(content, order, where, most_bytes)
        if kind == MATRIX:
            name, array = _matrix(content, order, where)
            arrays[name] = array
    return arrays


def _elements(data: bytes, order: str, where: str) -> Iterator[tuple[int, bytes]]:
    position = 0
    while position < len(data):
        head = data[position : position + 8]
        if len(head) < 8:
            raise damaged(where, "ends in the middle of an element")
        kind, length = struct.unpack(order + "II", head)
        start = position + 8
        if kind >> 16:  # up to four bytes packed into the tag itself
            kind, length, start = kind & 0xFFFF, kind >> 16, position + 4
            if length > 4:
                raise damaged(where, "has a short element of more than four bytes")
        if start + length > len(data):
            raise damaged(where, "ends in the middle of an element")
        yield kind, data[start : start + length]
        end = start + length
        # Elements begin at multiples of eight, except after a compressed one.
        position = end if kind == COMPRESSED else end + -end % 8


def _unpacked(content: bytes, order: str, where: str, most_bytes: int) -> tuple[int, bytes]:
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(content, most_bytes)
    except zlib.error as error:
        raise damaged(where, "has a compressed array that cannot be unpacked") from error
    if not stream.eof:
        raise damaged(where, f"has a compressed array cut short or above {most_bytes:,} bytes")
    return next(_elements(data, order, where), (0, b""))


def _matrix(content: bytes, order: str, where: str) -> tuple[str, np.ndarray]:
    parts = list(_elements(content, order, where))
    if len(parts) != 4 or parts[1][0] != 5 or parts[2][0] != 1 or parts[3][0] not in ENTRIES:
        raise damaged(where, "holds something other than arrays of real numbers")
    (_, _), (_, axes), (_, name), (kind, entries) = parts
    dtype = np.dtype(order + ENTRIES[kind])
    shape = struct.unpack(f"{order}{len(axes) // 4}i", axes[: len(axes) // 4 * 4])
    if min(shape, default=-1) < 0 or len(entries) != math.prod(shape) * dtype.itemsize:
        raise damaged(where, "holds an array whose bytes do not fill its shape")
    array = np.frombuffer(entries, dtype).reshape(shape, order="F")
    return name.decode("latin-1"), array
