import functools
import io
import os
import struct
import tarfile

import numpy as np
import official_files as made
import pytest
from bad_files import Cases, Command, assert_one_sentence_and_nothing_left, unpacked

from pxsgmcmc.data import _cifar10c as cifar10c
from pxsgmcmc.data import _npy_sets as npy_sets
from pxsgmcmc.data import _stl10 as stl10
from pxsgmcmc.data._stored import Stored

case = Cases()


def stl(folder, labels, cut=0):
    files = made.stl10_files((1, 2))
    files["test_y.bin"] = bytes(labels)
    files["test_X.bin"] = files["test_X.bin"][: len(files["test_X.bin"]) - cut]
    return unpacked(stl10.read_stl10, files, folder, records=2)


@case("test_X.bin", "images of 3 x 96 x 96 bytes belong")
def stl10_truncated(folder):
    return stl(folder, (1, 2), cut=1)


@case("test_y.bin", "has label 0 in row 1, outside 1..10")
def stl10_label_zero(folder):
    return stl(folder, (1, 0))


@case("test_y.bin", "has label 11 in row 0, outside 1..10")
def stl10_label_eleven(folder):
    return stl(folder, (11, 1))


@case("test_y.bin", "has 1 bytes where 2 labels belong")
def stl10_a_label_too_few(folder):
    return stl(folder, (1,))


def cifar101(folder, **files):
    names = {"data": "cifar10.1_v6_data.npy", "labels": "cifar10.1_v6_labels.npy"}
    changed = made.cifar101_files() | {names[key]: value for key, value in files.items()}
    return unpacked(npy_sets.read_cifar101, changed, folder, per_class=1)


def saved(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


@case("cifar10.1_v6_labels.npy", "holds Python objects")
def npy_of_objects(folder):
    return cifar101(folder, labels=saved(np.array([Command(os.system, "touch evil")] * 10)))


@case("cifar10.1_v6_labels.npy", "entries of type '<f8'")
def npy_of_nan(folder):
    return cifar101(folder, labels=saved(np.full(10, np.nan)))


@case("cifar10.1_v6_data.npy", "holds int8 of shape (10, 32, 32, 3)")
def npy_of_signed_images(folder):
    return cifar101(folder, data=made.npy(made.images(0, 10).view(np.int8)))


@case("cifar10.1_v6_data.npy", "bytes where its header asks for")
def npy_truncated(folder):
    return cifar101(folder, data=made.npy(made.images(0, 10))[:-1])


@case("cifar10.1_v6_data.npy", "holds uint8 of shape (10, 3, 32, 32)")
def npy_with_channels_first(folder):
    return cifar101(folder, data=made.npy(made.images(0, 10).transpose(0, 3, 1, 2)))


@case("cifar10.1_v6_data.npy", "bytes where its header asks for")
def npy_whose_shape_lies(folder):
    return cifar101(folder, data=made.npy(b"\0" * 100, "|u1", "(999999999999, 99999)"))


@case("cifar10.1_v6_labels.npy", "npy header other than")
def npy_whose_header_is_a_program(folder):
    header = b"{'descr': __import__('os').system('touch evil'), 'shape': (10,)}\n"
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    return cifar101(folder, labels=content)


@case("cifar10.1_v6_labels.npy", "npy header other than")
def npy_whose_header_is_endless(folder):
    return cifar101(folder, labels=b"\x93NUMPY\x02\x00" + b"\xff\xff\xff\xff" + b"(" * 100)


def headed(text):
    """An npy file of ten bytes whose header reads `text`."""
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + b"\0" * 10


def described(descr, shape):
    return headed(f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}".encode())


@case("cifar10.1_v6_labels.npy", "npy header other than")
def npy_whose_header_nests_a_thousand_deep(folder):
    return cifar101(folder, labels=headed(b"(" * 2000 + b")" * 2000))


@case("cifar10.1_v6_labels.npy", "npy header other than")
def npy_whose_header_has_a_thousand_signs(folder):
    return cifar101(folder, labels=headed(b"-" * 4000 + b"1"))


@case("cifar10.1_v6_labels.npy", "npy header other than")
def npy_whose_header_is_longer_than_the_limit(folder):
    plain = b"{'descr': '|u1', 'fortran_order': False, 'shape': (10,)}"
    return cifar101(folder, labels=headed(plain.ljust(4100)))


@case("cifar10.1_v6_labels.npy", "npy header other than")
def npy_of_negative_sides(folder):
    return cifar101(folder, labels=described("|u1", "(-2, -5)"))


@case("cifar10.1_v6_labels.npy", "entries of type '<U0'")
def npy_of_entries_without_size(folder):
    return cifar101(folder, labels=described("<U0", "(999999999999,)")[:-10])


@case("cifar10.1_v6_labels.npy", "not whole numbers")
def npy_of_wide_floats(folder):
    return cifar101(folder, labels=described("<f16", "(1,)"))


@case("cifar10.1_v6_labels.npy", "bytes where its header asks for")
def npy_of_sides_beyond_counting(folder):
    return cifar101(folder, labels=described("|u1", f"({'9' * 3900},)"))


@case("cifar10.1_v6_labels.npy", "bytes where its header asks for")
def npy_of_a_huge_shape(folder):
    return cifar101(folder, labels=described("|u1", f"({2**62}, {2**62})"))


@case("cifar10.1_v6_labels.npy", "npy header other than")
def npy_of_records(folder):
    return cifar101(folder, labels=saved(np.zeros(10, [("a", "i4"), ("b", "O")])[["a"]]))


@case("cifar10.1_v6_labels.npy", "does not hold 1 labels of each class")
def npy_of_unbalanced_labels(folder):
    return cifar101(folder, labels=made.npy(np.zeros(10, np.int32)))


@case("cifar10.1_v6_labels.npy", "holds shape (10, 1) where (10,) belongs")
def npy_of_labels_in_a_column(folder):
    return cifar101(folder, labels=made.npy(np.arange(10)[:, None]))


@case("cifar10.1_v6_labels.npy", "has label -3 in row 4")
def npy_of_negative_labels(folder):
    return cifar101(folder, labels=made.npy(np.array([0, 1, 2, 3, -3, 5, 6, 7, 8, 9])))


@case("cifar10.1_v6_data.npy", "is not an npy file")
def npy_that_is_a_pointer(folder):
    return cifar101(folder, data=b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n")


def cifar102(folder, **files):
    members = made.cifar102_members() | {f"{name}.npy": data for name, data in files.items()}
    path = folder / "cifar102_test.npz"
    path.write_bytes(made.zip_bytes({name: data for name, data in members.items() if data}))
    return functools.partial(npy_sets.read_cifar102, Stored(path), per_class=1)


@case("cifar102_test.npz", "lacks images.npy (1 of its 2 files are missing)")
def npz_without_images(folder):
    return cifar102(folder, images=b"")


@case("cifar102_test.npz: images.npy", "holds Python objects")
def npz_of_objects(folder):
    return cifar102(folder, images=saved(np.array([None] * 10)))


def fog(folder, files, **sizes):
    made.write(folder, made.cifar10c_files(("fog",)) | files)
    return functools.partial(cifar10c.read_condition, Stored(folder), "fog", 5, records=2, **sizes)


@case("labels.npy", "holds shape (9,) where five times 2 belong")
def cifar10c_labels_too_few(folder):
    return fog(folder, {"labels.npy": made.npy(np.zeros(9, np.uint8))})


@case("labels.npy", "has label 10 in row 1")
def cifar10c_label_out_of_range(folder):
    return fog(folder, {"labels.npy": made.npy(np.arange(1, 11).astype(np.uint8))})


@case("fog.npy", "holds uint8 of shape (9, 32, 32, 3)")
def cifar10c_images_too_few(folder):
    return fog(folder, {"fog.npy": made.npy(made.images(0, 9))})


@case("snow.npy", "lacks snow.npy")
def cifar10c_without_a_corruption(folder):
    call = fog(folder, {})
    return functools.partial(cifar10c.read_condition, call.args[0], "snow", 1, records=2)


@case("fog.npy", "stored column by column")
def cifar10c_column_by_column(folder):
    return fog(folder, {"fog.npy": saved(np.asfortranarray(made.images(0, 10)))})


@case("CIFAR-10-C.tar", "a link, device")
def cifar10c_archive_with_a_link(folder):
    path = folder / "CIFAR-10-C.tar"
    with tarfile.open(path, "w") as tar:
        link = tarfile.TarInfo("CIFAR-10-C/fog.npy")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    return functools.partial(cifar10c.read_condition, Stored(path, "CIFAR-10-C"), "fog", 1)


@pytest.mark.parametrize("bad", case.all)
def test_a_bad_file_gives_one_sentence_and_leaves_nothing(bad, tmp_path, monkeypatch):
    assert_one_sentence_and_nothing_left(bad, tmp_path, monkeypatch)
