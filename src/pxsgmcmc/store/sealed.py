"""JSON that carries its own checksum, so that one changed bit anywhere in it is noticed.

A line of a journal is `{..., "seal": S}` where S is a digest of all bytes before it *and of the
seal of the line above*: a line that is changed, missing, repeated or moved breaks the chain. A
document is the same thing laid out for the eye. Both are compared byte by byte, seal and closing
brace included.

JSON has no NaN and no infinities: they are written as the texts "nan", "inf" and "-inf", and come
back as numbers.
"""

import hashlib
import math
from typing import Annotated, Any

import msgspec

from pxsgmcmc.errors import UserError

Count = Annotated[int, msgspec.Meta(ge=0)]  # what a count is checked to be when it is read back
_SEAL_LENGTH = 32  # hexadecimal digits, 128 bits
_DEEPEST = 32
_LARGEST = 1 << 64
_NON_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def digest(*pieces: bytes) -> str:
    """SHA-256 in hexadecimal."""
    total = hashlib.sha256()
    for piece in pieces:
        total.update(piece)
    return total.hexdigest()


def to_json(value: Any) -> bytes:
    """`value` as JSON: numbers of NumPy and JAX as plain numbers, arrays as lists.

    Example:
      >>> to_json({"energy": float("nan"), "steps": (1, 2)})
      b'{"energy":"nan","steps":[1,2]}'
    """
    try:
        return msgspec.json.encode(_plain(value, 0))
    except (TypeError, ValueError, OverflowError) as error:
        raise UserError(f"A {type(value).__name__} cannot be written as JSON: {error}.") from error


def from_json(data: bytes) -> dict[str, Any]:
    """The object in `data`; ValueError if there is none."""
    try:
        value = _restored(msgspec.json.decode(data), 0)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError("it is not JSON") from error
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    return value


def _plain(value: Any, depth: int) -> Any:
    _check_depth(depth)
    if isinstance(value, float):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    if isinstance(value, dict):
        return {key: _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    return _plain(value.tolist(), depth + 1) if hasattr(value, "tolist") else value


def _restored(value: Any, depth: int) -> Any:
    _check_depth(depth)
    if isinstance(value, str):
        return _NON_FINITE.get(value, value)
    if isinstance(value, int) and not -_LARGEST <= value <= _LARGEST:
        raise ValueError("it has a number of more than 64 bits")
    if isinstance(value, dict):
        return {key: _restored(item, depth + 1) for key, item in value.items()}
    return [_restored(item, depth + 1) for item in value] if isinstance(value, list) else value


def _check_depth(depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError(f"it is nested more than {_DEEPEST} deep")


def seal_line(body: dict[str, Any], above: str) -> tuple[bytes, str]:
    """The line that says `body` below a line with the seal `above`, and its own seal."""
    head = to_json(body)[:-1]
    seal = _seal(head, above)
    return head + _line_end(seal), seal


def unseal_line(line: bytes, above: str) -> tuple[dict[str, Any], str]:
    """The body and the seal of a line with its newline; ValueError if a single bit differs."""
    head = line[: -len(_line_end("")) - _SEAL_LENGTH]
    seal = _seal(head, above)
    if line != head + _line_end(seal):
        raise ValueError("its seal does not fit")
    return from_json(head + b"}"), seal


def seal_document(body: dict[str, Any]) -> bytes:
    """`body` laid out over many lines, with its seal as the last entry."""
    head = msgspec.json.format(to_json(body), indent=2)[: -len(b"\n}")]
    return head + _document_end(_seal(head, ""))


def unseal_document(data: bytes) -> dict[str, Any]:
    """What was given to `seal_document`; ValueError if a single bit differs."""
    head = data[: -len(_document_end("")) - _SEAL_LENGTH]
    if data != head + _document_end(_seal(head, "")):
        raise ValueError("its seal does not fit")
    return from_json(head + b"}")


def _seal(head: bytes, above: str) -> str:
    return digest(above.encode(), head)[:_SEAL_LENGTH]


def _line_end(seal: str) -> bytes:
    return f',"seal":"{seal}"}}\n'.encode()


def _document_end(seal: str) -> bytes:
    return f',\n  "seal": "{seal}"\n}}\n'.encode()
