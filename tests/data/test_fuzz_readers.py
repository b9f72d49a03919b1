"""Every reader of bytes, on bytes that were damaged at random: an answer or a `UserError`.

Small valid files are damaged by flips, cuts, insertions, repeats and telling numbers, from a fixed
seed; hypothesis adds files of its own after the first bytes of each format.
"""

import io
import random
import tarfile
import time

import numpy as np
import official_files as made
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pxsgmcmc.data import _cifar as cifar
from pxsgmcmc.data import _idx as idx
from pxsgmcmc.data import _image_folders as image_folders
from pxsgmcmc.data import _npy as npy
from pxsgmcmc.data import _stl10 as stl10
from pxsgmcmc.data import _svhn as svhn
from pxsgmcmc.data._archives import members_of
from pxsgmcmc.data._restricted_pickle import read_pickled_arrays
from pxsgmcmc.data._stored import gunzip
from pxsgmcmc.errors import UserError

MEMBERS = {"set/a.bin": b"abc" * 30, "set/b.npy": made.npy(np.arange(4, dtype=np.uint8))}


def jpeg() -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(made.images(3, 1)[0]).save(file, "JPEG")
    return file.getvalue()


def small_mat(packed: bool) -> bytes:
    x = made.mat_matrix(b"X", 9, (2, 2, 3, 2), 2, bytes(range(24)))
    y = made.mat_matrix(b"y", 6, (2, 1), 9, np.array([1.0, 10.0]).tobytes())
    return made.mat_file(x, y, packed=packed)


def small_pickle() -> bytes:
    """Two rows of real size would bury the operations under pixels: one of 6 bytes instead."""
    row = made.pickled_batch(0, [7], pixels=b"")
    return row.replace(b"M\x00\x0c\x86", b"K\x06\x86").replace(
        b"T\0\0\0\0", b"T\x06\0\0\0" + bytes(range(6))
    )


def read_archive(data: bytes) -> None:
    for _, content in members_of(io.BytesIO(data), "x", lambda _: 10_000, most_bytes=100_000):
        assert len(content) <= 10_000


def read_mended_tar(data: bytes) -> None:
    """Set the checksum of every header right, so that damage gets past it."""
    out = bytearray(data)
    for start in range(0, len(out) - 511, 512):
        if out[start + 257 : start + 262] == b"ustar":
            out[start + 148 : start + 156] = b" " * 8
            out[start + 148 : start + 156] = b"%06o\0 " % sum(out[start : start + 512])
    read_archive(bytes(out))


def tar_of_every_header(tar_format: int) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tar_format) as tar:
        for name in ("folder/" * 30 + "long.bin", "short.bin", "\u00e9" * 60):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = 5, 1.5 if tar_format == tarfile.PAX_FORMAT else 1
            tar.addfile(member, io.BytesIO(b"12345"))
    return file.getvalue()


def read_npz(data: bytes) -> None:
    for name, content in members_of(io.BytesIO(data), "x", lambda _: 10_000, most_bytes=100_000):
        npy.parse_npy(content, name)


def read_cifar(classes: tuple[int, ...]):
    def read(data: bytes) -> None:
        x, y = cifar.parse_records(data, "x", records=2, classes=classes)
        assert x.shape == (2, 32, 32, 3) and y.min() >= 0 and y.max() < classes[-1]

    return read


def read_pickled_cifar(data: bytes) -> None:
    x, y = cifar.parse_pickled(data, "x", records=2, key="labels", classes=10)
    assert x.shape == (2, 32, 32, 3) and 0 <= y.min() and y.max() < 10


def read_stl_labels(data: bytes) -> None:
    y = stl10.parse_labels(data, "x", records=8)
    assert y.min() >= -1 and y.max() <= 9


def read_mat(data: bytes) -> None:
    svhn.parse_mat(data, "x", most_bytes=100_000)


READERS = {
    "cifar10": (made.cifar_records(0, [(1,), (9,)]), read_cifar((10,))),
    "cifar100": (made.cifar_records(0, [(1, 99), (19, 0)]), read_cifar((20, 100))),
    "cifar pickle": (made.pickled_batch(0, [3, 4]), read_pickled_cifar),
    "small pickle": (small_pickle(), lambda data: read_pickled_arrays(data, "x")),
    "stl10 images": (bytes(3 * 96 * 96), lambda d: stl10.parse_images(d, "x", records=1)),
    "stl10 labels": (bytes(range(1, 9)), read_stl_labels),
    "idx images": (
        made.idx(made.images(0, 2, 5, 1)[..., 0]),
        lambda data: idx.parse_idx(data, "x", (2, 5, 5)),
    ),
    "gzip": (made.idx_files(packed=True)["t10k-labels-idx1-ubyte.gz"], lambda d: gunzip(d, "x", 9)),
    "npy": (made.npy(np.arange(6, dtype="<i4").reshape(2, 3)), lambda d: npy.parse_npy(d, "x")),
    "npz": (made.zip_bytes({"b.npy": MEMBERS["set/b.npy"]}), read_npz),
    "mat": (small_mat(False), read_mat),
    "packed mat": (small_mat(True), read_mat),
    "tar": (made.tar_bytes(MEMBERS, packed=False), read_archive),
    "mended pax tar": (tar_of_every_header(tarfile.PAX_FORMAT), read_mended_tar),
    "mended gnu tar": (tar_of_every_header(tarfile.GNU_FORMAT), read_mended_tar),
    "tar.gz": (made.tar_bytes(MEMBERS), read_archive),
    "zip": (made.zip_bytes(MEMBERS), read_archive),
    "png": (
        made.png(made.images(0, 1)[0]),
        lambda data: image_folders.decode(data, "x", side=32),
    ),
    "jpeg": (jpeg(), lambda data: image_folders.decode(data, "x", side=32)),
}
# How many of the 400 damages below leave a file that is another valid one: other pixels, padding,
# bytes after the end. A reader that lets more pass has lost a check.
HARMLESS = {
    **{"cifar10": 130, "cifar100": 139, "cifar pickle": 101, "small pickle": 104},
    **{"stl10 images": 121, "stl10 labels": 34, "idx images": 58, "gzip": 33, "npy": 20, "npz": 98},
    **{"mat": 77, "packed mat": 54, "tar": 156, "mended pax tar": 172, "mended gnu tar": 192},
    **{"tar.gz": 174, "zip": 111, "png": 1, "jpeg": 202},
}
TELLING = (
    *(b"\0", b"\xff", b"\x80", b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\xff" * 8, b"-1", b"\n"),
    *(b"99999999999", b"../", b"\0\0\0\x01", b"77777777777\0", b"\x80" + b"\0" * 11),
)


def damage(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        place = rng.randrange(len(out) + 1) if rng.random() < 0.5 else rng.randrange(600)
        place = min(place, len(out))
        kind = rng.randrange(6)
        if kind == 0 and place < len(out):
            out[place] ^= 1 << rng.randrange(8)
        elif kind == 1 and place < len(out):
            out[place] = rng.randrange(256)
        elif kind == 2:
            value = rng.choice(TELLING)
            out[place : place + len(value)] = value
        elif kind == 3:
            out[place:place] = rng.randbytes(rng.randrange(1, 9))
        elif kind == 4:
            del out[place : place + rng.choice((1, 4, 100, len(out)))]
        else:
            out[place:place] = out[max(0, place - rng.choice((4, 64, 512))) : place]
    return bytes(out)


def fuzz(name: str, seed: int, tries: int) -> tuple[int, float]:
    """Try damaged files; how many were still accepted, and the longest time on the processor."""
    valid, read = READERS[name]
    read(valid)
    rng = random.Random(f"{name} {seed}")
    accepted, longest = 0, 0.0
    for _ in range(tries):
        data = damage(valid, rng)
        start = time.process_time()
        try:
            read(data)
            accepted += 1
        except UserError as error:
            assert str(error).isprintable()
        longest = max(longest, time.process_time() - start)
    return accepted, longest


@pytest.mark.parametrize("name", READERS)
def test_damaged_bytes_give_an_answer_or_one_sentence(name):
    accepted, longest = fuzz(name, seed=0, tries=400)
    assert accepted <= HARMLESS[name] + 10 and longest < 10


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_hundred_thousand_damaged_files_give_an_answer_or_one_sentence(name):
    tries = 100_000 // len(READERS) + 1
    accepted, longest = fuzz(name, seed=1, tries=tries)
    print(f"{name}: {tries} tries, {accepted} accepted, longest {longest:.3f} s")
    assert longest < 10


@pytest.mark.parametrize("name", READERS)
def test_invented_bytes_give_an_answer_or_one_sentence(name):
    valid, read = READERS[name]

    @settings(max_examples=40, deadline=None, database=None, derandomize=True)
    @given(st.sampled_from([0, 2, 4, 8, 12, 128, 136, 512]), st.binary(max_size=300))
    def check(kept, data):
        try:
            read(valid[:kept] + data)
        except UserError as error:
            assert str(error).isprintable()

    check()
