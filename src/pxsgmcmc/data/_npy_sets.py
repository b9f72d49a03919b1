"""CIFAR-10.1 (Recht et al., 2018) and CIFAR-10.2 (Lu et al., 2020): new test sets for CIFAR-10."""

import numpy as np

from pxsgmcmc.data._assemble import assemble, labels_within
from pxsgmcmc.data._cifar import CIFAR10_CLASSES, MEAN, PIXELS, STD
from pxsgmcmc.data._faults import damaged
from pxsgmcmc.data._npy import MOST_HEADER, check_images, parse_npy
from pxsgmcmc.data._stored import Stored, read_files
from pxsgmcmc.data.dataset import Dataset, Split


def read_cifar101(stored: Stored, *, per_class: int = 200) -> Dataset:
    """CIFAR-10.1, version 6: 2,000 images, 200 of each class, from two npy files."""
    return _read_pair(
        "cifar10.1", stored, "cifar10.1_v6_data.npy", "cifar10.1_v6_labels.npy", per_class
    )


def read_cifar102(stored: Stored, *, per_class: int = 200) -> Dataset:
    """CIFAR-10.2's test half: 2,000 images, 200 of each class, from an npz archive.

    Its other members, among them arrays of strings, are not looked at.
    """
    return _read_pair("cifar10.2", stored, "images.npy", "labels.npy", per_class)


def _read_pair(name: str, stored: Stored, images: str, labels: str, per_class: int) -> Dataset:
    rows = 10 * per_class
    files = read_files(
        stored, {images: MOST_HEADER + rows * PIXELS, labels: MOST_HEADER + rows * 8}
    )
    x = parse_npy(files[images], stored.where(images))
    check_images(x.dtype, x.shape, (rows, 32, 32, 3), stored.where(images))
    y = parse_npy(files[labels], stored.where(labels))
    if y.shape != (rows,):
        raise damaged(stored.where(labels), f"holds shape {y.shape} where ({rows},) belongs")
    y = labels_within(stored.where(labels), y, 10)
    if (np.bincount(y, minlength=10) != per_class).any():
        raise damaged(stored.where(labels), f"does not hold {per_class} labels of each class")
    splits = {"test": Split(np.ascontiguousarray(x), y)}
    return assemble(name, splits, CIFAR10_CLASSES, MEAN, STD)
