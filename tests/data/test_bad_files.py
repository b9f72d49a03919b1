import os
import pickle

import numpy as np
import official_files as made
import pytest
from bad_files import Cases, Command, assert_one_sentence_and_nothing_left, unpacked

from pxsgmcmc.data import _cifar as cifar

case = Cases()


def cifar10(folder, change):
    files = made.cifar10_files()
    change(files)
    return unpacked(cifar.read_cifar10_binary, files, folder, records=2, train=7)


@case("data_batch_3.bin", "has 5,000 bytes where 2 records of 3073 bytes belong")
def cifar10_truncated(folder):
    return cifar10(folder, lambda f: f.update({"data_batch_3.bin": f["data_batch_3.bin"][:5000]}))


@case("data_batch_3.bin", "larger than the 6,146 bytes")
def cifar10_too_long(folder):
    return cifar10(folder, lambda f: f.update({"data_batch_3.bin": f["data_batch_3.bin"] + b"!"}))


@case("test_batch.bin", "has 0 bytes")
def cifar10_empty(folder):
    return cifar10(folder, lambda f: f.update({"test_batch.bin": b""}))


@case("data_batch_2.bin", "has label 10 in row 1, outside 0..9")
def cifar10_label_out_of_range(folder):
    content = made.cifar_records(0, [(3,), (10,)])
    return cifar10(folder, lambda f: f.update({"data_batch_2.bin": content}))


@case("data_batch_4.bin", "3 of its 6 files are missing")
def cifar10_half_the_files(folder):
    return cifar10(folder, lambda f: [f.popitem() for _ in range(3)])


@case("data_batch_1.bin", "1 of its 6 files are missing")
def cifar10_a_folder_for_a_file(folder):
    (folder / "data_batch_1.bin").mkdir()
    return cifar10(folder, lambda f: f.pop("data_batch_1.bin"))


@case("data_batch_1.bin", "is the python form of CIFAR")
def cifar10_python_files_renamed(folder):
    content = made.pickled_batch(0, [3])
    return cifar10(folder, lambda f: f.update({"data_batch_1.bin": content}))


@case("train.bin", "has label 20 in row 0, outside 0..19")
def cifar100_coarse_label_out_of_range(folder):
    files = made.cifar100_files() | {"train.bin": made.cifar_records(0, [(20, 0)] * 10)}
    return unpacked(cifar.read_cifar100_binary, files, folder, records=2)


@case("train.bin", "has label 100 in row 0, outside 0..99")
def cifar100_fine_label_out_of_range(folder):
    files = made.cifar100_files() | {"train.bin": made.cifar_records(0, [(0, 100)] * 10)}
    return unpacked(cifar.read_cifar100_binary, files, folder, records=2)


@case("test.bin", "records of 3074 bytes belong")
def cifar100_with_records_of_cifar10(folder):
    files = made.cifar100_files() | {"test.bin": made.cifar_records(0, [(0,), (1,)])}
    return unpacked(cifar.read_cifar100_binary, files, folder, records=2)


def pickled(folder, content):
    files = made.cifar10_python_files() | {"data_batch_2": content}
    return unpacked(cifar.read_cifar10_python, files, folder, records=2, train=7)


@case("data_batch_2", "asks for posix.system")
def pickle_that_runs_a_command(folder):
    return pickled(folder, pickle.dumps({"data": Command(os.system, "touch evil")}, 2))


@case("data_batch_2", "eval")
def pickle_that_evaluates(folder):
    return pickled(folder, pickle.dumps(Command(eval, "open('evil', 'w')"), 4))


@case("data_batch_2", "not a readable pickle")
def pickle_truncated(folder):
    return pickled(folder, made.pickled_batch(0, [1, 2])[:3000])


@case("data_batch_2", "not of numbers")
def pickle_of_an_object_array(folder):
    objects = np.array([{"a": 1}, None], object)
    return pickled(folder, pickle.dumps({"data": objects, "labels": [1, 2]}, 2))


@case("data_batch_2", "does not hold 2 rows")
def pickle_of_floats(folder):
    return pickled(folder, pickle.dumps({"data": np.zeros((2, 900)), "labels": [1, 2]}, 4))


@case("data_batch_2", "larger than")
def pickle_that_is_huge(folder):
    return pickled(folder, made.pickled_batch(0, [1, 2]) + b"\0" * 50_000)


@case("data_batch_2", "does not hold 2 rows")
def pickle_with_a_label_too_few(folder):
    data = np.zeros((2, 3072), np.uint8)
    return pickled(folder, pickle.dumps({"data": data, "labels": [1]}, 2))


@case("data_batch_2", "has label -1 in row 1")
def pickle_with_a_negative_label(folder):
    return pickled(folder, made.pickled_batch(0, [1, -1]))


@case("data_batch_2", "asks for BINFLOAT")
def pickle_with_a_nan_label(folder):
    data = np.zeros((2, 3072), np.uint8)
    return pickled(folder, pickle.dumps({"data": data, "labels": [1, float("nan")]}, 2))


@case("data_batch_2", "lacks the array `data` or the list `labels`")
def pickle_without_labels(folder):
    return pickled(folder, made.pickled_batch(0, [1, 2], b"fine_labels"))


@case("data_batch_2", "something other than a dictionary")
def pickle_of_a_list(folder):
    return pickled(folder, pickle.dumps([1, 2], 2))


@case("data_batch_2", "only arrays are read")
def pickle_of_protocol_zero(folder):
    return pickled(folder, pickle.dumps({"labels": [1, 2]}, 0))


@case("data_batch_2", "do not fill its shape")
def pickle_whose_bytes_do_not_fill_its_shape(folder):
    return pickled(folder, made.pickled_batch(0, [1, 2], pixels=b"\0" * 5000))


@case("data_batch_2", "not a readable pickle")
def pickle_that_is_text(folder):
    return pickled(folder, b"version https://git-lfs.github.com/spec/v1\n")


@pytest.mark.parametrize("bad", case.all)
def test_a_bad_file_gives_one_sentence_and_leaves_nothing(bad, tmp_path, monkeypatch):
    assert_one_sentence_and_nothing_left(bad, tmp_path, monkeypatch)
