"""Arrays in NumPy's npy format: the header is read by NumPy, and nothing is ever unpickled.

NumPy reads the header as a Python literal, of which a long one can exhaust the parser; hence the
limit on its length. Arrays of objects are pickles and are refused, and so are arrays of records.
"""

import io
import math
import warnings
from typing import NamedTuple

import numpy as np
from numpy.lib import format as npy_format

from pxsgmcmc.data._faults import damaged

MOST_HEADER = 4_096
_READERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
_KINDS = {"iu": "whole numbers", "biuf": "numbers", "biufUS": "numbers or text"}


class NpyHeader(NamedTuple):
    """What an npy file says of its array."""

    dtype: np.dtype
    shape: tuple[int, ...]
    fortran: bool
    offset: int  # where the entries begin


def parse_header(
    start: bytes, where: str, *, kinds: str = "iu", remedy: str = "download it again"
) -> NpyHeader:
    """The header in the first bytes of an npy file; `MOST_HEADER` bytes are always enough.

    Args:
      start: the first bytes of the file.
      where: the name of the file in messages.
      kinds: kinds of entries to accept, as in `numpy.dtype.kind`: whole numbers, or "biufUS".
      remedy: what to do about a file that is not accepted.
    """
    if start[:6] != npy_format.MAGIC_PREFIX:
        raise damaged(where, "is not an npy file", remedy)
    try:
        header = _read_header(io.BytesIO(start[:MOST_HEADER]))
    except Exception as error:  # a dozen kinds, as `parsing` says
        fault = "has an npy header other than that of a plain array of numbers"
        raise damaged(where, fault, remedy) from error
    dtype = header.dtype
    if dtype.hasobject:
        fault = "holds Python objects, which are never loaded"
        raise damaged(where, fault, "give it as an array of numbers")
    # Numbers of more than 64 bits are of one kind of machine only, and JAX has none of them.
    too_wide = dtype.kind in "biuf" and dtype.itemsize > 8
    if dtype.kind not in kinds or not dtype.itemsize or too_wide:
        what = "numbers of at most 64 bits" if dtype.kind in kinds else _KINDS[kinds]
        raise damaged(where, f"holds entries of type {dtype.str!r}, not {what}", remedy)
    return header


def _read_header(file: io.BytesIO) -> NpyHeader:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that Python 2 wrote it is no concern of the user
        read = _READERS[npy_format.read_magic(file)]
        shape, fortran, dtype = read(file, max_header_size=MOST_HEADER)
    if dtype.names is not None or dtype.subdtype is not None or min(shape, default=0) < 0:
        raise ValueError("no plain array")
    return NpyHeader(dtype, shape, fortran, file.tell())


def parse_npy(data: bytes, where: str) -> np.ndarray:
    """The array of whole numbers in the bytes of an npy file.

    Example:
      >>> import io
      >>> file = io.BytesIO()
      >>> np.save(file, np.array([3, 1], np.int32))
      >>> parse_npy(file.getvalue(), "labels.npy")
      array([3, 1], dtype=int32)
    """
    header = parse_header(data[:MOST_HEADER], where)
    check_length(header, len(data), where)
    return parse_entries(data, header)


def parse_entries(data: bytes, header: NpyHeader) -> np.ndarray:
    """The array whose header is known and whose length was checked."""
    entries = np.frombuffer(data, header.dtype, offset=header.offset)
    return entries.reshape(header.shape, order="F" if header.fortran else "C")


def check_length(
    header: NpyHeader, length: int, where: str, remedy: str = "download it again"
) -> None:
    """Refuse a file whose length is not its header's and its entries'."""
    expected = header.offset + math.prod(header.shape) * header.dtype.itemsize
    if length != expected:
        fault = f"has {length:,} bytes where its header asks for {expected:,}"
        raise damaged(where, fault, remedy)


def check_images(dtype: np.dtype, shape: tuple[int, ...], expected: tuple, where: str) -> None:
    """Refuse anything but uint8 of the expected shape."""
    if dtype != np.uint8 or shape != expected:
        raise damaged(where, f"holds {dtype} of shape {shape} where uint8 of {expected} belongs")
