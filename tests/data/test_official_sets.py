import io
import itertools

import numpy as np
import official_files as made
import pytest

from pxsgmcmc.data import _idx as idx
from pxsgmcmc.data import _image_folders as image_folders
from pxsgmcmc.data import _npy as npy
from pxsgmcmc.data import _npy_sets as npy_sets
from pxsgmcmc.data import _stl10 as stl10
from pxsgmcmc.data import _svhn as svhn
from pxsgmcmc.data._assemble import area_mean
from pxsgmcmc.data._cifar10c import read_cifar10c, read_condition
from pxsgmcmc.data._stored import Stored
from pxsgmcmc.data.corruptions import CORRUPTIONS


def mean_of_squares(x, factor):
    """Nearest whole number to the mean over each square, halves up, pixel by pixel."""
    out = np.empty((len(x), x.shape[1] // factor, x.shape[2] // factor, x.shape[3]), np.uint8)
    for n, r, c, k in np.ndindex(out.shape):
        square = x[n, factor * r : factor * (r + 1), factor * c : factor * (c + 1), k]
        out[n, r, c, k] = int(np.floor(square.astype(float).mean() + 0.5))
    return out


@pytest.mark.parametrize("factor", [2, 3])
def test_area_mean_is_the_rounded_mean_over_each_square(factor):
    x = np.random.default_rng(1).integers(0, 256, (2, 12, 12, 3)).astype(np.uint8)
    np.testing.assert_array_equal(area_mean(x, factor), mean_of_squares(x, factor))
    full = np.full((1, 12, 12, 1), 255, np.uint8)
    assert (area_mean(full, factor) == 255).all()


def test_stl10_takes_cifar10_labels_drops_monkeys_and_reads_planes_column_by_column(tmp_path):
    stored = Stored(made.write(tmp_path, made.stl10_files()))
    x, y = stl10.read_stl10(stored, records=10).splits["test"]
    np.testing.assert_array_equal(y, [0, 2, 1, 3, 4, 5, 7, 8, 9])  # the eighth is a monkey
    kept = made.images(0, 10, 96)[[0, 1, 2, 3, 4, 5, 6, 8, 9]]
    np.testing.assert_array_equal(x, mean_of_squares(kept, 3))


@pytest.mark.parametrize("packed", [True, False])
def test_svhn_calls_label_ten_zero(tmp_path, packed):
    made.write(tmp_path, {"test_32x32.mat": made.svhn_file((1, 10, 9), packed=packed)})
    x, y = svhn.read_svhn(Stored(tmp_path), records=3).splits["test"]
    np.testing.assert_array_equal(y, [1, 0, 9])
    np.testing.assert_array_equal(x, made.images(0, 3))


@pytest.mark.parametrize("packed", [True, False])
def test_mat_files_of_scipy_are_read_alike(packed):
    savemat = pytest.importorskip("scipy.io").savemat
    arrays = {
        "X": made.images(0, 4).transpose(1, 2, 3, 0),
        "y": np.arange(1.0, 5.0)[:, None],
        "counts": np.arange(6, dtype=np.int16).reshape(2, 3),
        "x_with_a_long_name": np.array([[7]], np.uint32),
    }
    file = io.BytesIO()
    savemat(file, arrays, do_compression=packed)
    found = svhn.parse_mat(file.getvalue(), "test.mat", most_bytes=1 << 20)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


def test_cifar101_reads_two_npy_files(tmp_path):
    stored = Stored(made.write(tmp_path, made.cifar101_files()))
    x, y = npy_sets.read_cifar101(stored, per_class=1).splits["test"]
    np.testing.assert_array_equal(x, made.images(0, 10))
    np.testing.assert_array_equal(y, np.arange(10))
    assert y.dtype == np.int32


def test_cifar102_reads_an_npz_and_leaves_its_other_members_alone(tmp_path):
    (tmp_path / "cifar102_test.npz").write_bytes(made.zip_bytes(made.cifar102_members()))
    stored = Stored(tmp_path / "cifar102_test.npz")
    x, y = npy_sets.read_cifar102(stored, per_class=1).splits["test"]
    np.testing.assert_array_equal(x, made.images(0, 10))
    np.testing.assert_array_equal(y, np.arange(10))


@pytest.mark.parametrize("dtype", ["u1", "<i2", ">i4", "<i8", "<u4"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 3, 2)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_files_of_numpy_are_read_alike(dtype, shape, order):
    count = int(np.prod(shape))
    array = np.arange(count).astype(dtype).reshape(shape, order=order)
    file = io.BytesIO()
    np.save(file, array)
    found = npy.parse_npy(file.getvalue(), "x.npy")
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype


def conditions(tmp_path, kind):
    files = made.cifar10c_files(tuple(CORRUPTIONS), records=2)
    if kind == "folder":
        return Stored(made.write(tmp_path / "CIFAR-10-C", files))
    path = tmp_path / "CIFAR-10-C.tar"
    path.write_bytes(made.tar_bytes(files, "CIFAR-10-C/", packed=False))
    return Stored(path, "CIFAR-10-C")


@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_a_condition_of_cifar10c_is_mapped_from_its_rows(tmp_path, kind):
    stored = conditions(tmp_path, kind)
    x, y = read_condition(stored, "shot_noise", 4, records=2)
    assert isinstance(x, np.memmap)
    np.testing.assert_array_equal(
        x, made.images(1000 * list(CORRUPTIONS).index("shot_noise") + 6, 2)
    )
    np.testing.assert_array_equal(y, [0, 1])


def test_all_of_cifar10c_is_ninety_five_splits(tmp_path):
    dataset = read_cifar10c(conditions(tmp_path, "folder"), records=2)
    assert len(dataset.splits) == 95
    np.testing.assert_array_equal(
        dataset.splits["elastic_transform-5"].x, made.images(18_000 + 8, 2)
    )
    assert read_cifar10c(conditions(tmp_path, "archive"), records=2).sha256 == dataset.sha256


@pytest.mark.parametrize("packed", [True, False])
def test_mnist_reads_idx_files_gzipped_or_not(tmp_path, packed):
    stored = Stored(made.write(tmp_path, made.idx_files(records=2, packed=packed)))
    dataset = idx.read_mnist(stored, records=2)
    for split, first, count in (("train", 0, 10), ("validation", 10, 2), ("test", 12, 2)):
        x, y = dataset.splits[split]
        np.testing.assert_array_equal(x, made.images(first, count, 28, 1))
        np.testing.assert_array_equal(y, np.arange(first, first + count) % 10)
    assert idx.read_fashion_mnist(stored, records=2).classes[9] == "Ankle boot"


@pytest.mark.parametrize("packed", [True, False])
def test_lsun_is_sorted_by_file_name_and_has_no_labels(tmp_path, packed):
    files = made.lsun_files(12) | {"LSUN_resize/._3.png": b"resource fork", ".DS_Store": b""}
    stored = Stored(made.write(tmp_path / "LSUN_resize", files))
    if packed:
        (tmp_path / "LSUN_resize.tar.gz").write_bytes(made.tar_bytes(files, "LSUN_resize/"))
        stored = Stored(tmp_path / "LSUN_resize.tar.gz", "LSUN_resize")
    x, y = image_folders.read_lsun(stored, records=12).splits["test"]
    order = [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]
    np.testing.assert_array_equal(x, made.images(0, 12)[order])
    assert y is None


@pytest.mark.parametrize("packed", [True, False])
def test_tinyimagenet_counts_sorted_ids_and_balances_its_splits(tmp_path, packed):
    files = made.tinyimagenet_files(per_class=4, records=3)
    stored = Stored(made.write(tmp_path / "tiny-imagenet-200", files))
    if packed:
        (tmp_path / "tiny.zip").write_bytes(made.zip_bytes(files, "tiny-imagenet-200/"))
        stored = Stored(tmp_path / "tiny.zip", "tiny-imagenet-200")
    dataset = image_folders.read_tinyimagenet(stored, classes=3, per_class=4, records=3, train=7)
    assert dataset.classes == ("n01", "n02", "n03")
    test = dataset.splits["test"]
    np.testing.assert_array_equal(test.y, [1, 0, 2])  # n02, n01, n03 in the annotations
    np.testing.assert_array_equal(test.x, mean_of_squares(made.images(900, 3, 64), 2))
    train, validation = dataset.splits["train"], dataset.splits["validation"]
    assert sorted(np.bincount(train.y).tolist()) == [2, 2, 3]
    assert len(validation.y) == 5
    both = np.concatenate([train.x, validation.x]), np.concatenate([train.y, validation.y])
    for k, label in enumerate([1, 0, 2]):
        expected = mean_of_squares(made.images(100 * k, 4, 64), 2)
        found = both[0][both[1] == label]
        assert sorted(map(bytes, found)) == sorted(map(bytes, expected))


def test_the_order_of_tinyimagenet_deals_every_class_once_a_round():
    groups = [[f"train/n{c}/images/n{c}_{i}.JPEG" for i in range(50)] for c in range(20)]
    order = image_folders.balanced_order(groups)
    assert sorted(order) == sorted(itertools.chain(*groups))
    classes = [name.split("/")[1] for name in order]
    for start in range(0, 1000, 20):
        assert len(set(classes[start : start + 20])) == 20
    assert order != list(itertools.chain(*zip(*groups, strict=True)))
    assert image_folders.balanced_order([group[::-1] for group in groups]) == order


def test_a_grey_picture_becomes_three_equal_channels():
    grey = made.images(0, 1, 32, 1)[0, ..., 0]
    decoded = image_folders.decode(made.png(grey), "grey.png", side=32)
    np.testing.assert_array_equal(decoded, np.repeat(grey[..., None], 3, axis=2))
