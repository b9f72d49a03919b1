"""Forged npy files for `pxsgmcmc predict`: one line, or the right answer, in bounded time."""

import os
import struct

import numpy as np
import pytest

from tests.helpers.cli_calls import assert_one_line, call
from tests.helpers.small_runs import three_draws


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return three_draws(tmp_path_factory.mktemp("forged") / "run")


def headed(text: bytes) -> bytes:
    """An npy file whose header reads `text`, with 192 bytes after it."""
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(192)


def described(descr: str, shape: str) -> bytes:
    return headed(f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}".encode())


FORGED = {
    "numbers of 128 bits": described("<f16", "(12,)"),
    "a negative side": described("|u1", "(-3, 8, 8, 1)"),
    "two negative sides": described("|u1", "(-3, -8, 8, 1)"),
    "a shape of 2^124": described("|u1", f"({2**62}, {2**62})"),
    "a shape that is no tuple": described("|u1", "7"),
    "a nested header": headed(b"(" * 5000 + b")" * 5000),
    "a header of signs": headed(b"-" * 9000 + b"1"),
    "a header of another version": b"\x93NUMPY\x09\x00" + bytes(300),
    "a header that runs on": b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + bytes(300),
    "control characters": headed(b"\x1b[2J\x07"),
    "text": described("<U1", "(48,)"),
    "records": headed(b"{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (48,)}"),
    "one number": described("<f8", "()")[: -192 + 8],
    "complex numbers": described("<c16", "(12,)"),
    "dates": described("<M8[s]", "(24,)"),
}


@pytest.mark.parametrize("data", FORGED.values(), ids=FORGED.keys())
def test_a_forged_file_is_refused_in_one_line(run, tmp_path, data):
    (tmp_path / "x.npy").write_bytes(data)
    said = call("predict", str(run), str(tmp_path / "x.npy"), "-o", str(tmp_path / "p.npy"))
    assert_one_line(said, 2)
    assert said.err.strip().isprintable()


def test_a_pipe_and_a_device_are_not_waited_for(run, tmp_path):
    os.mkfifo(tmp_path / "pipe.npy")
    for path in (tmp_path / "pipe.npy", "/dev/zero"):
        said = call("predict", str(run), str(path), "-o", str(tmp_path / "p.npy"))
        assert_one_line(said, 2, "not a regular file")


def test_another_byte_order_gives_the_same_answer(run, tmp_path):
    x = np.random.default_rng(0).uniform(0, 255, (5, 8, 8, 1)).astype("<f4")
    for name, order in (("little", "<f4"), ("big", ">f4")):
        np.save(tmp_path / f"{name}.npy", x.astype(order))
        out = str(tmp_path / f"{name}-p.npy")
        assert call("predict", str(run), str(tmp_path / f"{name}.npy"), "-o", out).code == 0
    little, big = (np.load(tmp_path / f"{name}-p.npy") for name in ("little", "big"))
    np.testing.assert_array_equal(little, big)
