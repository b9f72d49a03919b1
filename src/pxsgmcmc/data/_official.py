"""The official data sets: one row each, with files, addresses, hashes, licence and reader.

Hashes under `md5` and `git` were seen in several independent sources, or in the repository that
publishes the file, and a file that differs is refused. Those under `advisory` come from one source.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pxsgmcmc.data import _cifar, _cifar10c, _idx, _image_folders, _npy_sets, _stl10, _svhn
from pxsgmcmc.data._stored import Stored
from pxsgmcmc.data.cache import Remote
from pxsgmcmc.data.dataset import Dataset


@dataclass(frozen=True)
class Form:
    """One way a set is published.

    Attributes:
      files: what is downloaded: one archive, or the loose files themselves.
      read: from where the set lies to its `Dataset`.
      members: the files to read, with the md5 where known; in an archive, below its top folder.
      folder: the archive's top folder, "" if it has none; None when `files` are loose.
      elsewhere: other names of the folder in which the files may lie.
      most_bytes: what the archive may unpack to, somewhat above the true size.
      mapped: True if the archive is mapped rather than read; then loading checks its size only.
    """

    files: tuple[Remote, ...]
    read: Callable[[Stored], Dataset]
    members: Mapping[str, str | None]
    folder: str | None = None
    elsewhere: tuple[str, ...] = ()
    most_bytes: int = 250_000_000
    mapped: bool = False


@dataclass(frozen=True)
class OfficialSet:
    """A published data set. The first form is the one that is downloaded."""

    about: str
    licence: str
    forms: tuple[Form, ...]


def _sha256(digest: str) -> dict[str, str]:
    return {"sha256": digest}


def _tgz(name: str, size: int, md5: str, sha256: str | None = None) -> tuple[Remote, ...]:
    address = f"https://www.cs.toronto.edu/~kriz/{name}"
    advisory = {} if sha256 is None else _sha256(sha256)
    return (Remote(name, address, size, {"md5": md5}, advisory),)


def _idx_form(base: str, read: Callable, folder: str, files: dict[str, tuple[int, str]]) -> Form:
    remotes = tuple(
        Remote(f"{name}.gz", f"{base}/{name}.gz", size, {"md5": md5})
        for name, (size, md5) in files.items()
    )
    return Form(remotes, read, dict.fromkeys(files), elsewhere=(folder,))


_CIFAR_LICENCE = "none stated; cite Krizhevsky (2009)"
_GITHUB = "https://raw.githubusercontent.com/modestyachts"

OFFICIAL: dict[str, OfficialSet] = {
    "cifar10": OfficialSet(
        "60,000 photographs of 10 classes, 32 x 32",
        _CIFAR_LICENCE,
        (
            Form(
                _tgz(
                    "cifar-10-binary.tar.gz",
                    170_052_171,
                    "c32a1d4ab5d03f1284b67883e8d87530",
                    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                ),
                _cifar.read_cifar10_binary,
                {f"{name}.bin": None for name in (*_cifar.TRAIN_BATCHES, "test_batch")},
                "cifar-10-batches-bin",
            ),
            Form(
                _tgz(
                    "cifar-10-python.tar.gz",
                    170_498_071,
                    "c58f30108f718f92721af3b95e74349a",
                    "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
                ),
                _cifar.read_cifar10_python,
                _cifar.PYTHON_MD5,
                "cifar-10-batches-py",
            ),
        ),
    ),
    "cifar100": OfficialSet(
        "60,000 photographs of 100 classes, 32 x 32",
        _CIFAR_LICENCE,
        (
            Form(
                _tgz("cifar-100-binary.tar.gz", 168_513_733, "03b5dce01913d631647c71ecec9e9cb8"),
                _cifar.read_cifar100_binary,
                {
                    "train.bin": "6172c7755cfe09b2fe270c85cebc1b15",
                    "test.bin": "4499cfba6c016c1be1438163640a0898",
                },
                "cifar-100-binary",
            ),
            Form(
                _tgz("cifar-100-python.tar.gz", 169_001_437, "eb9058c3a382ffc7106e4002c42a8d85"),
                _cifar.read_cifar100_python,
                {
                    "train": "16019d7e3df5f24257cddd939b257f8d",
                    "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
                },
                "cifar-100-python",
            ),
        ),
    ),
    "cifar10.1": OfficialSet(
        "2,000 new test photographs for CIFAR-10 (version 6)",
        "MIT",
        (
            Form(
                (
                    Remote(
                        "cifar10.1_v6_data.npy",
                        f"{_GITHUB}/CIFAR-10.1/master/datasets/cifar10.1_v6_data.npy",
                        hashes={"git": "24349cc5f3fb59648d75cd8015b5a184b1f5c250"},
                    ),
                    Remote(
                        "cifar10.1_v6_labels.npy",
                        f"{_GITHUB}/CIFAR-10.1/master/datasets/cifar10.1_v6_labels.npy",
                        advisory=_sha256(
                            "ae40beda001693674edc94d925ee8268cfe68905f8f9aff800c8dcdfcd6c9448"
                        ),
                    ),
                ),
                _npy_sets.read_cifar101,
                {"cifar10.1_v6_data.npy": None, "cifar10.1_v6_labels.npy": None},
                elsewhere=("datasets", "CIFAR-10.1/datasets"),
            ),
        ),
    ),
    "cifar10.2": OfficialSet(
        "2,000 newer test photographs for CIFAR-10",
        "none stated",
        (
            Form(
                (
                    Remote(
                        "cifar102_test.npz",
                        f"{_GITHUB}/cifar-10.2/master/cifar102_test.npz",
                        hashes={"git": "7a3829681be56af70ea80ec99cf3822e2f5edff3"},
                    ),
                ),
                _npy_sets.read_cifar102,
                {},
                "",
            ),
        ),
    ),
    "stl10": OfficialSet(
        "7,200 test photographs of nine of CIFAR-10's classes, 96 x 96 made 32 x 32",
        "none stated; cite Coates, Ng and Lee (2011)",
        (
            Form(
                (
                    Remote(
                        "stl10_binary.tar.gz",
                        "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
                        2_640_397_119,
                        {"md5": "91f7769df0f17e558f3565bffb0c7dfb"},
                    ),
                ),
                _stl10.read_stl10,
                _stl10.MD5,
                "stl10_binary",
                most_bytes=4_000_000_000,
            ),
        ),
    ),
    "cifar10-c": OfficialSet(
        "CIFAR-10's test set under 19 corruptions at 5 severities",
        "CC BY 4.0",
        (
            Form(
                (
                    Remote(
                        "CIFAR-10-C.tar",
                        "https://zenodo.org/records/2535967/files/CIFAR-10-C.tar",
                        2_918_471_680,
                        {"md5": "56bf5dcef84df0e2308c6dcbcbbd8499"},
                        _sha256("c72763e101c723b7c507b96205f7e938912a5d587376173b825850cf3cb876a7"),
                    ),
                ),
                _cifar10c.read_cifar10c,
                {f"{name}.npy": None for name in ("labels", *_cifar10c.CORRUPTIONS)},
                "CIFAR-10-C",
                most_bytes=3_000_000_000,
                mapped=True,
            ),
        ),
    ),
    "svhn": OfficialSet(
        "26,032 house numbers, 32 x 32 (test set)",
        "non-commercial use only",
        (
            Form(
                (
                    Remote(
                        _svhn.FILE,
                        f"http://ufldl.stanford.edu/housenumbers/{_svhn.FILE}",
                        64_275_384,
                        {"md5": "eb5a983be6a315427106f1b164d9cef3"},
                        _sha256("cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b"),
                    ),
                ),
                _svhn.read_svhn,
                {_svhn.FILE: "eb5a983be6a315427106f1b164d9cef3"},
            ),
        ),
    ),
    "lsun": OfficialSet(
        "10,000 photographs of scenes, 32 x 32, without labels (ODIN's LSUN_resize)",
        "CC BY-NC 4.0",
        (
            Form(
                (
                    Remote(
                        "LSUN_resize.tar.gz",
                        "https://www.dropbox.com/s/moqh2wh8696c3yl/LSUN_resize.tar.gz?dl=1",
                        advisory={"md5": "278b7b31c8cb7e804a1465a8ce03a2dc"},
                    ),
                ),
                _image_folders.read_lsun,
                {},
                "LSUN_resize",
            ),
        ),
    ),
    "tinyimagenet": OfficialSet(
        "110,000 photographs of 200 classes, 64 x 64 made 32 x 32",
        "ImageNet's terms: non-commercial research",
        (
            Form(
                (
                    Remote(
                        "tiny-imagenet-200.zip",
                        "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
                        248_100_043,
                        {"md5": "90528d7ca1a48142e341f4ef8d21d0de"},
                    ),
                ),
                _image_folders.read_tinyimagenet,
                {"wnids.txt": None, "val/val_annotations.txt": None},
                "tiny-imagenet-200",
                most_bytes=1_000_000_000,
            ),
        ),
    ),
    "mnist": OfficialSet(
        "70,000 handwritten digits, 28 x 28",
        "CC BY-SA 3.0",
        (
            _idx_form(
                "https://ossci-datasets.s3.amazonaws.com/mnist",
                _idx.read_mnist,
                "MNIST/raw",
                {
                    "train-images-idx3-ubyte": (9_912_422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
                    "train-labels-idx1-ubyte": (28_881, "d53e105ee54ea40749a09fcbcd1e9432"),
                    "t10k-images-idx3-ubyte": (1_648_877, "9fb629c4189551a2d022fa330f9573f3"),
                    "t10k-labels-idx1-ubyte": (4_542, "ec29112dd5afa0611ce80d1b7f02629c"),
                },
            ),
        ),
    ),
    "fashion-mnist": OfficialSet(
        "70,000 pictures of clothes, 28 x 28",
        "MIT",
        (
            _idx_form(
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
                _idx.read_fashion_mnist,
                "FashionMNIST/raw",
                {
                    "train-images-idx3-ubyte": (26_421_880, "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
                    "train-labels-idx1-ubyte": (29_515, "25c81989df183df01b3e8a0aad5dffbe"),
                    "t10k-images-idx3-ubyte": (4_422_102, "bef4ecab320f06d8554ea6380940ec79"),
                    "t10k-labels-idx1-ubyte": (5_148, "bb300cfdad3c16e7a12a480ee83cd310"),
                },
            ),
        ),
    ),
}
