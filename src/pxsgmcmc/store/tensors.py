"""A flat dictionary of arrays <-> the bytes of a safetensors file. Nothing is ever executed."""

import json
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import safetensors

from pxsgmcmc.errors import UserError

# In the order in which a file has them, largest items first: every array then starts at a multiple
# of its item's size.
_DTYPES = {
    "U64": np.dtype(np.uint64),
    "I64": np.dtype(np.int64),
    "F64": np.dtype(np.float64),
    "C64": np.dtype(np.complex64),
    "F32": np.dtype(np.float32),
    "U32": np.dtype(np.uint32),
    "I32": np.dtype(np.int32),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F16": np.dtype(np.float16),
    "U16": np.dtype(np.uint16),
    "I16": np.dtype(np.int16),
    "I8": np.dtype(np.int8),
    "U8": np.dtype(np.uint8),
    "BOOL": np.dtype(np.bool_),
}
_CODES = {dtype: (place, code) for place, (code, dtype) in enumerate(_DTYPES.items())}


def encode(arrays: Mapping[str, Any]) -> bytes:
    """The bytes of a safetensors file; the same arrays always give the same bytes.

    Args:
      arrays: name -> array or typed scalar, of any shape and of a dtype that safetensors has.

    Example:
      >>> data = encode({"step": np.int32(7), "weights": np.zeros((2, 3), np.float32)})
      >>> decode(data)["step"]
      array(7, dtype=int32)
    """
    stored = [(name, _storable(name, value)) for name, value in arrays.items()]
    header, pieces, end = {}, [], 0
    for (_, code), name, array in sorted((_CODES[a.dtype], name, a) for name, a in stored):
        span = [end, end := end + array.nbytes]
        header[name] = {"dtype": code, "shape": array.shape, "data_offsets": span}
        pieces.append(array.reshape(-1).view(np.uint8))
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *pieces])


def _storable(name: Any, value: Any) -> np.ndarray:
    """`value` as a little-endian array in row order, which is what the format holds."""
    if not isinstance(name, str) or name in ("", "__metadata__") or not _is_text(name):
        raise UserError(f"An array's name must be a text other than '__metadata__', got {name!r}.")
    if not hasattr(value, "dtype"):
        raise UserError(f"`{name}` must be an array or a typed scalar, got {type(value).__name__}.")
    try:
        array = np.asarray(value, order="C")
    except TypeError:  # a typed key of jax.random, which has a dtype and no bytes to show
        array = None
    if array is None or array.dtype.newbyteorder("=") not in _CODES:
        known = ", ".join(sorted(dtype.name for dtype in _CODES))
        raise UserError(f"`{name}` must have one of the dtypes {known}, got {value.dtype}.")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _is_text(name: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def decode(data: bytes) -> dict[str, np.ndarray]:
    """The arrays in the bytes of a safetensors file.

    The header is checked against the number of bytes there are before any array is made, so that
    what is allocated is never more than `data` itself.

    Raises:
      ValueError: if `data` is anything else than a safetensors file.
    """
    try:
        _refuse_repeated_names(data)
        entries = safetensors.deserialize(data)
        return {
            name: np.frombuffer(entry["data"], _DTYPES[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in entries
        }
    except safetensors.SafetensorError as error:
        reason = str(error).rpartition("deserializing: ")[2]
    except KeyError as error:
        reason = f"dtype {error}"
    except (OverflowError, RecursionError, UnicodeDecodeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
    raise ValueError(f"not a safetensors file ({reason})")


def _refuse_repeated_names(data: bytes) -> None:
    """Where a name occurs twice, the readers of this format do not agree on which one counts."""
    length = int.from_bytes(data[:8], "little")
    if length > len(data) - 8:
        raise ValueError("the header is longer than the file")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError("a name occurs twice")
        return dict(pairs)

    json.loads(data[8 : 8 + length], object_pairs_hook=unique)
