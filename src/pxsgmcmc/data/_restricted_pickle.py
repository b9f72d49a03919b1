"""Arrays out of a pickle without running it.

CIFAR's python form is a pickle. `pickle.load` on such a file runs whatever its author wrote, so it
is never called: the standard library's disassembler lists the operations, and the few that build
dictionaries, lists, numbers, strings and numeric arrays are carried out here. A name such as
`numpy.dtype` is a mark to recognise, never something to import or call. A reader of another layout
gives the names it knows, each with a function of ours that takes what such a call would be given.
"""

import math
import pickletools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from pxsgmcmc.data._faults import damaged, parsing

# Written by numpy 1 and Python 2, by numpy 2, and by Python 3 for bytes in protocol 2.
_RECONSTRUCT = ("numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct")
_NAMES = (*_RECONSTRUCT, "numpy.ndarray", "numpy.dtype", "_codecs.encode")
_DTYPES = ("b1", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8")
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_NUMBERS = ("BININT", "BININT1", "BININT2", "LONG1")
_BYTES = ("BINBYTES", "SHORT_BINBYTES", "BINBYTES8")
_STRINGS = ("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8")
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class _Name(NamedTuple):
    """A global the pickle mentions."""

    name: str


class _Mark:
    """Where a run of items begins on the stack."""


class _Building:
    """An array or dtype that the pickle makes empty and fills later."""

    value: Any = None


Makers = Mapping[str, Callable[[tuple[Any, ...]], Any]]


def read_pickled_arrays(data: bytes, where: str, makers: Makers | None = None) -> dict[str, Any]:
    """The dictionary in a pickle of arrays, lists, strings and numbers, its keys as str.

    Args:
      data: the bytes of the file.
      where: what it is called in an error.
      makers: further names that may occur, with what stands for a call of each.

    Example:
      >>> pickled = bytes.fromhex("80027d55066c6162656c734b07732e")
      >>> read_pickled_arrays(pickled, "batch")
      {'labels': 7}
    """
    with parsing(where, "pickle of arrays"):
        result = _run(data, where, makers or {})
        if not isinstance(result, dict):
            raise damaged(where, "holds something other than a dictionary of arrays")
        return {key: finished(value) for key, value in result.items()}


def rebuilt_array(function: Any, state: Any) -> np.ndarray:
    """The array that NumPy's function would rebuild from a state, for makers that get both."""
    if not isinstance(function, _Name) or function.name not in _RECONSTRUCT:
        raise ValueError("an array that NumPy did not write")
    if not isinstance(state, tuple):
        raise ValueError("a state for something that is no array")
    return _array(*state)


def _run(data: bytes, where: str, makers: Makers) -> Any:
    stack: list[Any] = []
    memo: dict[Any, Any] = {}
    for opcode, arg, _ in pickletools.genops(data):
        name = opcode.name
        if name == "STOP":
            return stack.pop()
        elif name == "MARK":
            stack.append(_Mark())
        elif name in ("BINPUT", "LONG_BINPUT"):
            memo[arg] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memo[arg])
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            stack.append(_allowed_name(name, arg, stack, where, makers))
        elif name == "REDUCE":
            _reduce(stack, makers)
        elif name in _CHANGES:
            _CHANGES[name](stack)
        elif name not in ("PROTO", "FRAME"):
            stack.append(_constant(name, arg, where))
    raise damaged(where, "is a pickle cut short")


def _constant(name: str, arg: Any, where: str) -> Any:
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    if name in _NUMBERS or name in _BYTES or name in _STRINGS:
        return arg
    if name in ("BINSTRING", "SHORT_BINSTRING"):  # Python 2's str: bytes
        return arg.encode("latin-1")
    empty = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
    if name in empty:
        return empty[name]()
    raise damaged(where, f"is a pickle that asks for {name}, and only arrays are read from pickles")


def _allowed_name(name: str, arg: Any, stack: list[Any], where: str, makers: Makers) -> _Name:
    if name == "STACK_GLOBAL":
        arg = " ".join(_text(part) for part in _pop(stack, 2))
    wanted = arg.replace(" ", ".")
    if wanted not in _NAMES and wanted not in makers:
        raise damaged(
            where, f"is a pickle that asks for {wanted}, and only arrays are read", "do not use it"
        )
    return _Name(wanted)


def _text(value: Any) -> str:
    # Only text is ever hashed or put in a message: nested tuples can make either take for ever.
    if not isinstance(value, str | bytes):
        raise ValueError("a name that is no text")
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _since_mark(stack: list[Any]) -> list[Any]:
    items: list[Any] = []
    while not isinstance(item := stack.pop(), _Mark):
        items.append(item)
    return items[::-1]


def _set_items(stack: list[Any], items: list[Any]) -> None:
    if not isinstance(stack[-1], dict) or len(items) % 2:
        raise ValueError("items for something that is no dictionary")
    for key, value in zip(items[::2], items[1::2], strict=True):
        stack[-1][_text(key)] = value


def _append(stack: list[Any], items: list[Any]) -> None:
    if not isinstance(stack[-1], list):
        raise ValueError("items for something that is no list")
    stack[-1].extend(items)


def _pop(stack: list[Any], count: int) -> list[Any]:
    if len(stack) < count:
        raise ValueError("too few items")
    items = stack[-count:]
    del stack[-count:]
    return items


def _reduce(stack: list[Any], makers: Makers) -> None:
    called, args = _pop(stack, 2)
    if not isinstance(called, _Name) or not isinstance(args, tuple):
        raise ValueError("a call of something that is no name")
    name, made = called.name, _Building()
    if name == "_codecs.encode":
        text, encoding = args
        if _text(encoding) != "latin1":
            raise ValueError("bytes in an unknown encoding")
        made = _text(text).encode("latin-1")
    elif name == "numpy.dtype":
        made.value = _dtype(args[0])
    elif name in makers:
        made = makers[name](args)
    elif name not in _RECONSTRUCT:
        raise ValueError(f"a call of {name}")
    stack.append(made)


def _dtype(code: Any) -> np.dtype:
    code = _text(code)
    if code not in _DTYPES:
        raise ValueError(f"an array of type {code!r}, not of numbers")
    return np.dtype(code)


def _build(stack: list[Any]) -> None:
    target, state = _pop(stack, 2)
    if not isinstance(target, _Building) or not isinstance(state, tuple):
        raise ValueError("a state for something that is no array")
    if isinstance(target.value, np.dtype):
        order = _text(state[1])
        if order not in ("<", ">", "=", "|"):
            raise ValueError("numbers of unknown byte order")
        target.value = target.value.newbyteorder(order)
    else:
        target.value = _array(*state)
    stack.append(target)


def _array(_version: Any, shape: Any, dtype: Any, fortran: Any, content: Any) -> np.ndarray:
    if not isinstance(dtype, _Building) or not isinstance(dtype.value, np.dtype):
        raise ValueError("an array without a type")
    sides = shape if isinstance(shape, tuple) and len(shape) <= 4 else (-1,)
    if not all(isinstance(side, int) and 0 <= side < 1 << 32 for side in sides):
        raise ValueError("an array of impossible shape")
    if not isinstance(content, bytes) or len(content) != math.prod(shape) * dtype.value.itemsize:
        raise ValueError("an array whose bytes do not fill its shape")
    return np.frombuffer(content, dtype.value).reshape(shape, order="F" if fortran else "C")


def finished(value: Any) -> Any:
    """What was built, once all of the pickle was read."""
    if isinstance(value, _Building):
        if not isinstance(value.value, np.ndarray):
            raise ValueError("an array that is never filled")
        return value.value
    return value


_CHANGES: dict[str, Callable[[list[Any]], None]] = {
    "TUPLE": lambda stack: stack.append(tuple(_since_mark(stack))),
    **{
        name: lambda stack, count=count: stack.append(tuple(_pop(stack, count)))
        for name, count in _TUPLES.items()
    },
    "APPEND": lambda stack: _append(stack, [stack.pop()]),
    "APPENDS": lambda stack: _append(stack, _since_mark(stack)),
    "SETITEM": lambda stack: _set_items(stack, _pop(stack, 2)),
    "SETITEMS": lambda stack: _set_items(stack, _since_mark(stack)),
    "BUILD": _build,
}
