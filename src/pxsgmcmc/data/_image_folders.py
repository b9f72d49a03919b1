"""Sets published as folders of image files: LSUN (resized) and TinyImageNet. Needs Pillow."""

import hashlib
import io
import warnings
from typing import Any

import numpy as np

from pxsgmcmc.data._assemble import area_mean, assemble, halves
from pxsgmcmc.data._cifar import MEAN, STD
from pxsgmcmc.data._extra import need
from pxsgmcmc.data._faults import damaged, parsing
from pxsgmcmc.data._stored import Stored, each_file
from pxsgmcmc.data.dataset import Dataset, Split

MOST_IMAGE = 100_000  # bytes of one image file; 64 x 64 x 3 uncompressed takes 12,288
MOST_TEXT = 2_000_000


def read_lsun(stored: Stored, *, records: int = 10_000) -> Dataset:
    """The 10,000 images of ODIN's LSUN_resize, sorted by file name; they have no labels."""
    images = {
        name: decode(data, stored.where(name), side=32)
        for name, data in each_file(stored, lambda name: MOST_IMAGE if _is_image(name) else None)
    }
    if len(images) != records:
        raise damaged(
            stored.path, f"holds {len(images):,} images where {records:,} belong", stored.remedy()
        )
    x = np.stack([images[name] for name in sorted(images)])
    return assemble("lsun", {"test": Split(x, None)}, (), MEAN, STD)


def read_tinyimagenet(
    stored: Stored,
    *,
    classes: int = 200,
    per_class: int = 500,
    records: int = 10_000,
    train: int = 81_920,
) -> Dataset:
    """TinyImageNet at 32 x 32 by 2 x 2 means; labels count the sorted WordNet ids.

    The archive keeps the images of a class together, so its first 81,920 images would leave 36
    classes without any. The training images are therefore put in the order of `balanced_order`,
    of which the first 81,920 train and the last 18,080 validate: 409 or 410 of each class train.
    The test split is the official validation set in the order of val_annotations.txt.

    Args:
      stored: the archive or folder.
      classes: number of classes.
      per_class: training images of each.
      records: images in the official validation set.
      train: how many of the reordered training images are for training.
    """
    files = {
        name: _halved(data, stored.where(name)) if _is_image(name) else data
        for name, data in each_file(stored, _tinyimagenet_limit)
    }
    wnids = sorted(_lines(files, "wnids.txt", stored))
    if len(set(wnids)) != classes or len(wnids) != classes:
        raise damaged(stored.where("wnids.txt"), f"does not list {classes} different classes")
    names = {wnid: [] for wnid in wnids}
    for name in files:
        folder, wnid = name.split("/")[0], name.split("/")[1] if "/" in name else ""
        if folder == "train" and wnid in names:
            names[wnid].append(name)
    for wnid in wnids:
        if len(names[wnid]) != per_class:
            fault = f"holds {len(names[wnid])} training images of {wnid} where {per_class} belong"
            raise damaged(stored.path, fault, stored.remedy())
    order = balanced_order([names[wnid] for wnid in wnids])
    label = {wnid: index for index, wnid in enumerate(wnids)}
    x = np.stack([files[name] for name in order])
    y = np.array([label[name.split("/")[1]] for name in order], np.int32)
    test = _validation_images(files, label, stored, records)
    return assemble("tinyimagenet", {**halves(x, y, train), "test": test}, tuple(wnids), MEAN, STD)


def balanced_order(groups: list[list[str]]) -> list[str]:
    """Deal names from equally long groups in rounds, each round one of every group.

    Within a group, and within a round, names are sorted by their SHA-256: as good as shuffled, and
    the same for ever on every machine.

    Example:
      >>> balanced_order([["a1", "a2"], ["b1", "b2"]])
      ['a2', 'b2', 'b1', 'a1']
    """

    def digest(name: str) -> str:
        return hashlib.sha256(name.encode()).hexdigest()

    rounds = zip(*(sorted(group, key=digest) for group in groups), strict=True)
    return [name for names in rounds for name in sorted(names, key=digest)]


def decode(data: bytes, where: str, *, side: int) -> np.ndarray:
    """A PNG or JPEG of side x side pixels as (side, side, 3); grey becomes colour."""
    image_module = need("PIL.Image", "reading image files")
    with parsing(where, "PNG or JPEG image"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns of what is refused below
        with image_module.open(io.BytesIO(data), formats=("PNG", "JPEG")) as image:
            if image.size != (side, side):  # known before any pixel is unpacked
                raise damaged(where, f"has {image.size} pixels where {(side, side)} belong")
            return np.asarray(image.convert("RGB"))


def _halved(data: bytes, where: str) -> np.ndarray:
    # One at a time, as it comes: all 110,000 at full size would take 1.4 GB.
    return area_mean(decode(data, where, side=64)[None], 2)[0]


def _is_image(name: str) -> bool:
    last = name.rsplit("/", 1)[-1].lower()
    return last.endswith((".png", ".jpg", ".jpeg")) and not last.startswith(".")


def _tinyimagenet_limit(name: str) -> int | None:
    if name in ("wnids.txt", "val/val_annotations.txt"):
        return MOST_TEXT
    return MOST_IMAGE if _is_image(name) and name.startswith(("train/", "val/")) else None


def _lines(files: dict[str, Any], name: str, stored: Stored) -> list[str]:
    if name not in files:
        raise damaged(stored.path, f"lacks {name}", stored.remedy())
    return files[name].decode("utf-8", "replace").split("\n")[:-1]


def _validation_images(
    files: dict[str, Any], label: dict[str, int], stored: Stored, records: int
) -> Split:
    where = stored.where("val/val_annotations.txt")
    rows = [line.split("\t")[:2] for line in _lines(files, "val/val_annotations.txt", stored)]
    if len(rows) != records:
        raise damaged(where, f"has {len(rows):,} lines where {records:,} belong")
    for row in rows:
        if len(row) != 2 or row[1] not in label or f"val/images/{row[0]}" not in files:
            raise damaged(where, f"names an image or class that is not there: {' '.join(row)}")
    x = np.stack([files[f"val/images/{file}"] for file, _ in rows])
    return Split(x, np.array([label[wnid] for _, wnid in rows], np.int32))
