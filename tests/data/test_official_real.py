"""CIFAR-10 at its real size, where the images are at hand beside the project."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pxsgmcmc.cli import data as commands
from pxsgmcmc.data import load

UNPACK = Path(__file__).parents[2].parent / "shared" / "data" / "unpack-cifar10"


@pytest.fixture(scope="session")
def real_cifar10(tmp_path_factory):
    if not UNPACK.exists():
        pytest.skip(f"{UNPACK} is absent")
    folder = tmp_path_factory.mktemp("real")
    subprocess.run([sys.executable, str(UNPACK), str(folder)], check=True, capture_output=True)
    return folder


@pytest.mark.slow
def test_cifar10_at_real_size_has_its_counts_classes_and_mean(real_cifar10, capsys):
    dataset = load("cifar10", root=real_cifar10)
    sizes = {name: split.x.shape for name, split in dataset.splits.items()}
    assert sizes == {
        "train": (40_960, 32, 32, 3),
        "validation": (9_040, 32, 32, 3),
        "test": (10_000, 32, 32, 3),
    }
    labels = np.concatenate([dataset.splits["train"].y, dataset.splits["validation"].y])
    assert np.bincount(labels).tolist() == [5000] * 10
    assert np.bincount(dataset.splits["test"].y).tolist() == [1000] * 10
    # The published channel means of CIFAR-10's training images.
    mean = dataset.splits["train"].x.mean(axis=(0, 1, 2)) / 255
    np.testing.assert_allclose(mean, [0.4914, 0.4822, 0.4465], atol=0.002)
    first = (real_cifar10 / "cifar-10-batches-bin" / "data_batch_1.bin").read_bytes()[:3073]
    assert dataset.splits["train"].y[0] == first[0]
    assert dataset.splits["train"].x[0, 31, 0, 1] == first[1 + 1024 + 31 * 32]
    commands.check("cifar10", str(real_cifar10))
    assert "no hash is published" in capsys.readouterr().out
