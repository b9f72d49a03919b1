"""Numeric arrays in NumPy's npy format, without NumPy's own loader.

The header of an npy file is Python source that NumPy evaluates, and arrays of objects are pickles.
Here the header must have the one plain form NumPy writes for numbers, and is matched, not
evaluated; anything else is refused.
"""

import math
import re
from typing import NamedTuple

import numpy as np

from pxsgmcmc.data.faults import damaged

MOST_HEADER = 4_096
_HEADER = re.compile(
    rb"\{'descr': '([<>|=]?[a-zA-Z]\d{0,3})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,12}L?,? ?){0,6})\),? ?\}\s*"
)


class NpyHeader(NamedTuple):
    """What an npy file says of its array."""

    dtype: np.dtype
    shape: tuple[int, ...]
    fortran: bool
    offset: int  # where the entries begin


def parse_header(start: bytes, where: str) -> NpyHeader:
    """The header in the first bytes of an npy file; `MOST_HEADER` bytes are always enough."""
    if start[:6] != b"\x93NUMPY" or len(start) < 12 or start[6] not in (1, 2, 3):
        raise damaged(where, "is not an npy file")
    begin = 10 if start[6] == 1 else 12
    length = int.from_bytes(start[8:begin], "little")
    match = _HEADER.fullmatch(start, begin, begin + length)
    if length > MOST_HEADER - begin or begin + length > len(start) or match is None:
        raise damaged(where, "has an npy header other than that of a plain array of numbers")
    code, fortran, sides = match.groups()
    if b"O" in code:
        raise damaged(where, "holds Python objects, which are never loaded", "do not use it")
    if code.lstrip(b"<>|=") not in (b"u1", b"u2", b"u4", b"u8", b"i1", b"i2", b"i4", b"i8"):
        raise damaged(where, f"holds entries of type {code.decode()!r}, not whole numbers")
    shape = tuple(int(side) for side in re.findall(rb"\d+", sides))
    return NpyHeader(np.dtype(code.decode()), shape, fortran == b"True", begin + length)


def parse_npy(data: bytes, where: str) -> np.ndarray:
    """The array in the bytes of an npy file.

    Example:
      >>> import io
      >>> file = io.BytesIO()
      >>> np.save(file, np.array([3, 1], np.int32))
      >>> parse_npy(file.getvalue(), "labels.npy")
      array([3, 1], dtype=int32)
    """
    header = parse_header(data[:MOST_HEADER], where)
    check_length(header, len(data), where)
    entries = np.frombuffer(data, header.dtype, offset=header.offset)
    return entries.reshape(header.shape, order="F" if header.fortran else "C")


def check_length(header: NpyHeader, length: int, where: str) -> None:
    """Refuse a file whose length is not its header's and its entries'."""
    expected = header.offset + math.prod(header.shape) * header.dtype.itemsize
    if length != expected:
        raise damaged(where, f"has {length:,} bytes where its header asks for {expected:,}")


def check_images(dtype: np.dtype, shape: tuple[int, ...], expected: tuple, where: str) -> None:
    """Refuse anything but uint8 of the expected shape."""
    if dtype != np.uint8 or shape != expected:
        raise damaged(where, f"holds {dtype} of shape {shape} where uint8 of {expected} belongs")
