"""Pickles in the layout of the published weights, written opcode by opcode: no Haiku is needed."""

import struct

import numpy as np

RECONSTRUCT = b"cnumpy.core.multiarray\n_reconstruct\n"
REBUILD = b"cjax._src.array\n_reconstruct_array\n"
MAPPING = b"chaiku._src.data_structures\nFlatMapping\n"


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def whole(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def raw(value: bytes) -> bytes:
    return b"B" + struct.pack("<I", len(value)) + value


def dtype(code: str) -> bytes:
    state = b"(" + whole(3) + text("<") + b"NNN" + whole(-1) * 2 + whole(0) + b"t"
    return b"cnumpy\ndtype\n" + text(code) + b"\x89\x88\x87R" + state + b"b"


def array(values: np.ndarray, rebuild: bytes = REBUILD, function: bytes = RECONSTRUCT) -> bytes:
    """What pickling a JAX array of 2023 writes: NumPy's three pieces, and the state of its type."""
    values = np.ascontiguousarray(values)
    shape = b"(" + b"".join(map(whole, values.shape)) + b"t"
    start = b"cnumpy\nndarray\n" + whole(0) + b"\x85" + raw(b"b") + b"\x87"
    content = b"(" + whole(1) + shape + dtype(values.dtype.str[1:]) + b"\x89"
    content += raw(values.tobytes()) + b"t"
    kind = b"}(" + text("weak_type") + b"\x89" + text("named_shape") + b"}u"
    return rebuild + b"(" + function + start + content + kind + b"tR"


def dictionary(items: dict[str, bytes]) -> bytes:
    return b"}(" + b"".join(text(key) + value for key, value in items.items()) + b"u"


def published(weights: dict, mapping: bytes = MAPPING) -> bytes:
    """A pickle of {"mlp/~/linear_0": {"w", "b"}, ...} in a mapping of Haiku's."""
    layers = {
        f"mlp/~/{layer}": dictionary({name: array(own) for name, own in arrays.items()})
        for layer, arrays in weights.items()
    }
    return program(mapping + dictionary(layers) + b"\x85R")


def program(body: bytes) -> bytes:
    return b"\x80\x03" + body + b"."
