import numpy as np
import official_files as made
import pytest

from pxsgmcmc.data import _cifar as cifar
from pxsgmcmc.data._stored import Stored


def packed(tmp_path, files, prefix):
    path = tmp_path / "archive.tar.gz"
    path.write_bytes(made.tar_bytes(files, prefix + "/"))
    return Stored(path, prefix)


def test_the_first_images_train_the_last_validate_and_every_pixel_is_in_its_place(tmp_path):
    stored = Stored(made.write(tmp_path, made.cifar10_files(records=2)))
    dataset = cifar.read_cifar10_binary(stored, records=2, train=7)
    assert list(dataset.splits) == ["train", "validation", "test"]
    for split, first, count in (("train", 0, 7), ("validation", 7, 3), ("test", 10, 2)):
        x, y = dataset.splits[split]
        np.testing.assert_array_equal(x, made.images(first, count))
        np.testing.assert_array_equal(y, np.arange(first, first + count) % 10)
        assert x.dtype == np.uint8 and y.dtype == np.int32
    assert dataset.splits["train"].x[3, 5, 17, 2] == made.pixel(3, 5, 17, 2)
    assert dataset.mean == (0.49, 0.48, 0.44) and dataset.std == (0.2, 0.2, 0.2)
    assert dataset.classes[0] == "airplane" and dataset.classes[9] == "truck"


def test_cifar100_gives_fine_labels(tmp_path):
    stored = Stored(made.write(tmp_path, made.cifar100_files(records=2)))
    dataset = cifar.read_cifar100_binary(stored, records=2, train=7)
    np.testing.assert_array_equal(dataset.splits["train"].y, 99 - np.arange(7))
    np.testing.assert_array_equal(dataset.splits["test"].y, [89, 88])
    np.testing.assert_array_equal(dataset.splits["test"].x, made.images(10, 2))


def test_cifar100_has_its_hundred_classes_in_alphabetical_order():
    assert len(cifar.CIFAR100_CLASSES) == 100
    assert list(cifar.CIFAR100_CLASSES) == sorted(cifar.CIFAR100_CLASSES)


@pytest.mark.parametrize(
    ("read", "files", "prefix"),
    [
        (cifar.read_cifar10_binary, made.cifar10_files, "cifar-10-batches-bin"),
        (cifar.read_cifar100_binary, made.cifar100_files, "cifar-100-binary"),
        (cifar.read_cifar10_python, made.cifar10_python_files, "cifar-10-batches-py"),
        (cifar.read_cifar100_python, made.cifar100_python_files, "cifar-100-python"),
    ],
)
def test_archive_and_folder_give_the_same_bytes(tmp_path, read, files, prefix):
    folder = made.write(tmp_path / prefix, files(records=2))
    archive = packed(tmp_path, files(records=2) | {"readme.html": b"<html>"}, prefix)
    unpacked = read(Stored(folder), records=2, train=7)
    assert read(archive, records=2, train=7).sha256 == unpacked.sha256


@pytest.mark.parametrize(
    ("binary", "python", "binary_files", "python_files"),
    [
        (
            cifar.read_cifar10_binary,
            cifar.read_cifar10_python,
            made.cifar10_files,
            made.cifar10_python_files,
        ),
        (
            cifar.read_cifar100_binary,
            cifar.read_cifar100_python,
            made.cifar100_files,
            made.cifar100_python_files,
        ),
    ],
)
def test_the_python_form_equals_the_binary_form(
    tmp_path, binary, python, binary_files, python_files
):
    one = binary(Stored(made.write(tmp_path / "bin", binary_files())), records=2, train=7)
    other = python(Stored(made.write(tmp_path / "py", python_files())), records=2, train=7)
    assert one.sha256 == other.sha256 and one.classes == other.classes
    np.testing.assert_array_equal(one.splits["validation"].y, other.splits["validation"].y)


def test_a_different_pixel_gives_a_different_fingerprint(tmp_path):
    files = made.cifar10_files(records=2)
    one = cifar.read_cifar10_binary(Stored(made.write(tmp_path, files)), records=2, train=7)
    files["test_batch.bin"] = files["test_batch.bin"][:-1] + b"\x00"
    two = cifar.read_cifar10_binary(Stored(made.write(tmp_path, files)), records=2, train=7)
    assert one.sha256 != two.sha256
