import functools
import gzip
import io
import struct
import zlib
from pathlib import Path

import numpy as np
import official_files as made
import pytest
import scipy.io
from bad_files import Cases, assert_one_sentence_and_nothing_left, unpacked

from pxsgmcmc.data import _idx as idx
from pxsgmcmc.data import _image_folders as image_folders
from pxsgmcmc.data import _svhn as svhn
from pxsgmcmc.data._stored import Stored

case = Cases()


def house_numbers(folder, content, records=2):
    made.write(folder, {"test_32x32.mat": content})
    return functools.partial(svhn.read_svhn, Stored(folder), records=records)


def svhn_with(y_class, y_kind, y_data, packed=True):
    x = made.mat_matrix(b"X", 9, (32, 32, 3, 2), 2, b"\0" * 6144)
    return made.mat_file(x, made.mat_matrix(b"y", y_class, (2, 1), y_kind, y_data), packed=packed)


@case("test_32x32.mat", "has label nan in row 1")
def mat_with_a_nan_label(folder):
    return house_numbers(folder, svhn_with(6, 9, struct.pack("<2d", 1.0, float("nan"))))


@case("test_32x32.mat", "has label 2.5 in row 0")
def mat_with_half_a_label(folder):
    return house_numbers(folder, svhn_with(6, 9, struct.pack("<2d", 2.5, 1.0)))


@case("test_32x32.mat", "has label 11 in row 1, outside 1..10")
def mat_with_label_eleven(folder):
    return house_numbers(folder, svhn_with(9, 2, bytes([1, 11])))


@case("test_32x32.mat", "ends in the middle of an element")
def mat_truncated(folder):
    return house_numbers(folder, svhn_with(9, 2, bytes([1, 2]), packed=False)[:5000])


@case("test_32x32.mat", "cut short or above")
def mat_with_a_stream_cut_short(folder):
    matrix = zlib.compress(made.mat_matrix(b"X", 9, (32, 32, 3, 2), 2, b"\0" * 6144))[:-9]
    content = made.mat_file(packed=False) + struct.pack("<II", 15, len(matrix)) + matrix
    return house_numbers(folder, content)


@case("test_32x32.mat", "cannot be unpacked")
def mat_with_noise_for_a_stream(folder):
    noise = struct.pack("<II", 15, 64) + np.random.default_rng(0).bytes(64)
    return house_numbers(folder, made.mat_file(packed=False) + noise)


@case("test_32x32.mat", "cut short or above")
def mat_bomb(folder):
    return house_numbers(folder, made.mat_file(made.mat_element(14, b"\0" * 5_000_000)))


@case("test_32x32.mat", "something other than arrays of real numbers")
def mat_whose_entries_have_a_type_that_does_not_exist(folder):
    # SciPy's reader ends the process on this file.
    return house_numbers(folder, svhn_with(9, 0x6A02, bytes(range(1, 9))))


@case("test_32x32.mat", "something other than arrays of real numbers")
def mat_of_complex_labels(folder):
    file = io.BytesIO()
    images = np.zeros((32, 32, 3, 2), np.uint8)
    scipy.io.savemat(file, {"X": images, "y": np.array([[1j], [2]])})
    return house_numbers(folder, file.getvalue())


@case("test_32x32.mat", "is not a MATLAB version 5 file")
def mat_of_version_seven(folder):
    return house_numbers(folder, b"\x89HDF\r\n\x1a\n" + b"\0" * 600)


@case("test_32x32.mat", "lacks the array `X` or `y`")
def mat_without_labels(folder):
    x = made.mat_matrix(b"X", 9, (32, 32, 3, 2), 2, b"\0" * 6144)
    return house_numbers(folder, made.mat_file(x))


@case("test_32x32.mat", "something other than arrays of real numbers")
def mat_of_cells(folder):
    cell = made.mat_matrix(b"X", 1, (1, 1), 14, b"\0" * 56)
    return house_numbers(folder, made.mat_file(cell))


@case("test_32x32.mat", "do not fill its shape")
def mat_whose_shape_lies(folder):
    x = made.mat_matrix(b"X", 9, (32, 32, 3, 2**31 - 1), 2, b"\0" * 6144)
    return house_numbers(folder, made.mat_file(x))


@case("test_32x32.mat", "does not hold 2 images")
def mat_of_the_training_set(folder):
    return house_numbers(folder, made.svhn_file((1, 2, 3)))


def digits(folder, packed=False, **files):
    names = {"images": "train-images-idx3-ubyte", "labels": "train-labels-idx1-ubyte"}
    end = ".gz" if packed else ""
    changed = made.idx_files(packed=packed)
    changed |= {names[key] + end: value for key, value in files.items()}
    return unpacked(idx.read_mnist, changed, folder, records=1)


@case("train-images-idx3-ubyte", "is not an idx file of 6 x 28 x 28 bytes")
def idx_of_wrong_magic(folder):
    return digits(folder, images=b"\0\0\x0d\x03" + b"\0" * 4716)


@case("train-images-idx3-ubyte", "is not an idx file of 6 x 28 x 28 bytes")
def idx_whose_lengths_lie(folder):
    return digits(folder, images=b"\0\0\x08\x03" + b"\xff" * 12 + b"\0" * 4704)


@case("train-images-idx3-ubyte", "has 4,719 bytes where 4,720 belong")
def idx_truncated(folder):
    return digits(folder, images=made.idx_files()["train-images-idx3-ubyte"][:-1])


@case("train-labels-idx1-ubyte", "is not an idx file of 6 bytes")
def idx_of_the_test_labels(folder):
    return digits(folder, labels=made.idx_files()["t10k-labels-idx1-ubyte"])


@case("train-labels-idx1-ubyte", "has label 10 in row 2")
def idx_label_out_of_range(folder):
    return digits(folder, labels=made.idx(np.array([0, 1, 10, 3, 4, 5], np.uint8)))


@case("train-images-idx3-ubyte.gz", "not a readable gzip file")
def idx_gz_truncated(folder):
    content = made.idx_files(packed=True)["train-images-idx3-ubyte.gz"]
    return digits(folder, packed=True, images=content[:-20])


@case("train-images-idx3-ubyte.gz", "not a readable gzip file")
def idx_not_gzipped_though_named_so(folder):
    return digits(folder, packed=True, images=made.idx_files()["train-images-idx3-ubyte"])


@case("train-images-idx3-ubyte.gz", "unpacks to more than the 4,720 bytes")
def idx_gz_bomb(folder):
    return digits(folder, packed=True, images=gzip.compress(b"\0" * 3_000_000))


@case("t10k-labels-idx1-ubyte", "1 of its 4 files are missing")
def idx_without_one_file(folder):
    call = digits(folder)
    Path(folder / "t10k-labels-idx1-ubyte").unlink()
    return call


def lsun(folder, files, records=3):
    return unpacked(image_folders.read_lsun, made.lsun_files() | files, folder, records=records)


@case("data", "holds 3 images where 4 belong")
def lsun_with_an_image_too_few(folder):
    return lsun(folder, {}, records=4)


@case("1.png", "has (64, 64) pixels where (32, 32) belong")
def lsun_image_of_wrong_size(folder):
    return lsun(folder, {"LSUN_resize/1.png": made.png(made.images(0, 1, 64)[0])})


@case("1.png", "not a readable PNG or JPEG image")
def lsun_text_for_an_image(folder):
    return lsun(folder, {"LSUN_resize/1.png": b"not an image"})


@case("1.png", "not a readable PNG or JPEG image")
def lsun_image_truncated(folder):
    return lsun(folder, {"LSUN_resize/1.png": made.png(made.images(0, 1)[0])[:200]})


@case("1.png", "not a readable PNG or JPEG image")
def lsun_gif_for_a_png(folder):
    gif = b"GIF89a\x20\0\x20\0\x80\0\0" + b"\0" * 6 + b"!\xf9\x04\0\0\0\0\0" + b";"
    return lsun(folder, {"LSUN_resize/1.png": gif})


@case("1.png", "pixels where (32, 32) belong")
def lsun_image_of_a_billion_pixels(folder):
    content = bytearray(made.png(made.images(0, 1)[0]))
    content[16:24] = struct.pack(">II", 12_000, 12_000)
    content[29:33] = struct.pack(">I", zlib.crc32(content[12:29]))
    return lsun(folder, {"LSUN_resize/1.png": bytes(content)})


@case("1.png", "larger than the 100,000 bytes")
def lsun_image_of_many_bytes(folder):
    return lsun(folder, {"LSUN_resize/1.png": b"\0" * 100_001})


def tiny(folder, change):
    files = made.tinyimagenet_files()
    change(files)
    sizes = {"classes": 3, "per_class": 4, "records": 3, "train": 7}
    return unpacked(image_folders.read_tinyimagenet, files, folder, **sizes)


@case("wnids.txt", "lacks wnids.txt")
def tinyimagenet_without_its_list(folder):
    return tiny(folder, lambda f: f.pop("wnids.txt"))


@case("wnids.txt", "does not list 3 different classes")
def tinyimagenet_with_a_class_twice(folder):
    return tiny(folder, lambda f: f.update({"wnids.txt": b"n01\nn02\nn02\n"}))


@case("data", "holds 3 training images of n03 where 4 belong")
def tinyimagenet_with_an_image_too_few(folder):
    return tiny(folder, lambda f: f.pop("train/n03/images/n03_1.JPEG"))


@case("val_annotations.txt", "has 2 lines where 3 belong")
def tinyimagenet_with_a_line_too_few(folder):
    lines = b"val_0.JPEG\tn01\t0\nval_1.JPEG\tn01\t0\n"
    return tiny(folder, lambda f: f.update({"val/val_annotations.txt": lines}))


@case("val_annotations.txt", "an image or class that is not there: val_1.JPEG n99")
def tinyimagenet_of_an_unknown_class(folder):
    lines = b"val_0.JPEG\tn01\t0\nval_1.JPEG\tn99\t0\nval_2.JPEG\tn01\t0\n"
    return tiny(folder, lambda f: f.update({"val/val_annotations.txt": lines}))


@case("val_annotations.txt", "an image or class that is not there")
def tinyimagenet_of_binary_annotations(folder):
    noise = {"val/val_annotations.txt": b"\xff\xfe\n\x80\t\t\n\0\n"}
    return tiny(folder, lambda f: f.update(noise))


@case("n01_2.JPEG", "has (32, 32) pixels where (64, 64) belong")
def tinyimagenet_image_of_wrong_size(folder):
    small = {"train/n01/images/n01_2.JPEG": made.png(made.images(0, 1)[0])}
    return tiny(folder, lambda f: f.update(small))


@pytest.mark.parametrize("bad", case.all)
def test_a_bad_file_gives_one_sentence_and_leaves_nothing(bad, tmp_path, monkeypatch):
    assert_one_sentence_and_nothing_left(bad, tmp_path, monkeypatch)
