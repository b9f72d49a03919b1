"""CIFAR-10-C (Hendrycks and Dietterich, 2019) and sets written in its layout.

One npy file per corruption holds five severities one after the other, and labels.npy repeats the
test labels five times. The files are mapped, not read: out of 2.9 GB only the rows that are used
are touched, also when the (uncompressed) archive has not been unpacked.
"""

from pathlib import Path

import numpy as np

from pxsgmcmc.data._archives import tar_offsets
from pxsgmcmc.data._assemble import assemble, labels_within
from pxsgmcmc.data._cifar import CIFAR10_CLASSES, MEAN, STD
from pxsgmcmc.data._faults import damaged, parsing
from pxsgmcmc.data._npy import MOST_HEADER, check_images, check_length, parse_header
from pxsgmcmc.data._stored import Stored
from pxsgmcmc.data.corruptions import CORRUPTIONS, SEVERITIES
from pxsgmcmc.data.dataset import Dataset, Split
from pxsgmcmc.errors import UserError, did_you_mean


def read_cifar10c(stored: Stored, *, records: int = 10_000) -> Dataset:
    """All 95 conditions as splits named "fog-3" and so on, mapped from disk.

    The one set without a split "test": its conditions are reported apart, then averaged.
    """
    splits = {
        f"{corruption}-{severity}": read_condition(stored, corruption, severity, records=records)
        for corruption in CORRUPTIONS
        for severity in SEVERITIES
    }
    return assemble("cifar10-c", splits, CIFAR10_CLASSES, MEAN, STD)


def read_condition(
    stored: Stored,
    corruption: str,
    severity: int,
    *,
    records: int | None = 10_000,
    classes: int = 10,
) -> Split:
    """The images of one corruption at one severity, mapped from disk, with their labels.

    Args:
      stored: the archive or folder.
      corruption: one of `CORRUPTIONS`.
      severity: 1 to 5.
      records: images of 32 x 32 x 3 at each severity; None for images of any number and size,
        which may lack labels.
      classes: number of classes.
    """
    if corruption not in CORRUPTIONS:
        hint = did_you_mean(corruption, CORRUPTIONS)
        raise UserError(f"`corruption` cannot be {corruption!r}; {hint}")
    if severity not in SEVERITIES:
        raise UserError(f"`severity` must be 1, 2, 3, 4 or 5, got {severity!r}.")
    places, name = _places(stored), f"{corruption}.npy"
    images = _map_npy(stored, places, name)
    official = None if records is None else (5 * records, 32, 32, 3)
    check_images(images.dtype, images.shape, official or _as_images(images), stored.where(name))
    rows = len(images) // 5
    part = slice((severity - 1) * rows, severity * rows)
    if records is None and "labels.npy" not in places:
        return Split(images[part], None)
    labels, where = _map_npy(stored, places, "labels.npy"), stored.where("labels.npy")
    if labels.shape != (5 * rows,):
        raise damaged(where, f"holds shape {labels.shape} where five times {rows:,} belong")
    return Split(images[part], labels_within(where, labels[part], classes))


def _as_images(images: np.ndarray) -> tuple[int, ...]:
    """The shape `images` should have to be five times as many images, of any size."""
    sides = images.shape[1:] if images.ndim == 4 else (32, 32, 3)
    return (len(images) // 5 * 5, *sides)


def _places(stored: Stored) -> dict[str, tuple[Path, int, int]]:
    """File name -> (file that holds it, offset, length)."""
    if stored.path.is_dir():
        files = (path for path in stored.path.glob("*.npy") if path.is_file())
        return {path.name: (path, 0, path.stat().st_size) for path in files}
    offsets = tar_offsets(stored.path, most_bytes=stored.most_bytes)
    prefix = stored.prefix + "/"
    return {
        name.removeprefix(prefix): (stored.path, offset, size)
        for name, (offset, size) in offsets.items()
    }


def _map_npy(stored: Stored, places: dict[str, tuple[Path, int, int]], name: str) -> np.ndarray:
    if name not in places:
        raise damaged(stored.path, f"lacks {name}", stored.remedy())
    path, offset, size = places[name]
    where = stored.where(name)
    with parsing(where, "npy file"):
        with path.open("rb") as file:
            file.seek(offset)
            header = parse_header(file.read(min(MOST_HEADER, size)), where)
        check_length(header, size, where)
        if header.fortran or 0 in header.shape:
            raise damaged(where, "holds an empty array or one stored column by column")
        return np.memmap(path, header.dtype, "r", offset + header.offset, header.shape)
