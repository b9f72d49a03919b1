"""Data sets: embedded ones that need no download, official ones, and the user's own files."""

from pathlib import Path

from pxsgmcmc.data._cifar10c import read_condition
from pxsgmcmc.data._locate import load_official, locate
from pxsgmcmc.data._official import OFFICIAL
from pxsgmcmc.data._stored import Stored
from pxsgmcmc.data.cache import cache_folder
from pxsgmcmc.data.check import encode_labels
from pxsgmcmc.data.dataset import Dataset, Split
from pxsgmcmc.data.load_files import load_files
from pxsgmcmc.data.standardise import Standardisation
from pxsgmcmc.errors import UserError, did_you_mean

__all__ = [
    "Dataset",
    "Split",
    "Standardisation",
    "cache_folder",
    "encode_labels",
    "known_sets",
    "load",
    "load_corrupted",
    "load_files",
]


def known_sets() -> tuple[str, ...]:
    """The names `load` knows, embedded sets first.

    Example:
      >>> "digits" in known_sets() and "cifar10" in known_sets()
      True
    """
    from pxsgmcmc.data._embedded import EMBEDDED

    return (*EMBEDDED, *OFFICIAL)


def load(name: str, *, root: str | Path | None = None) -> Dataset:
    """Load a data set by name.

    Nothing is downloaded: an official set must be in the cache folder, where
    `pxsgmcmc data get NAME` puts it, or under `root`.

    Args:
      name: one of `known_sets()`.
      root: for official sets, the folder that holds the archive or what it unpacks to, or the
        archive itself. By default $PXSGMCMC_DATA or the platform's folder for caches.

    Example:
      >>> digits = load("digits")
      >>> {split: len(rows.x) for split, rows in digits.splits.items()}
      {'train': 1000, 'validation': 297, 'test': 500}
    """
    from pxsgmcmc.data._embedded import EMBEDDED, load_embedded

    if name in OFFICIAL:
        return load_official(name, root)
    if name in EMBEDDED:
        return load_embedded(name)
    raise UserError(f"No data set is called {name!r}; {did_you_mean(name, known_sets())}")


def load_corrupted(
    name: str = "cifar10-c",
    *,
    corruption: str,
    severity: int,
    root: str | Path | None = None,
) -> Split:
    """One corruption at one severity, mapped from disk: only the rows that are used are read.

    Args:
      name: "cifar10-c", or the name of a folder in the same layout under `root`.
      corruption: such as "gaussian_noise" or "fog".
      severity: 1 to 5.
      root: as in `load`.

    Example:
      >>> import tempfile
      >>> import numpy as np
      >>> with tempfile.TemporaryDirectory() as root:
      ...     folder = Path(root, "mine-c")
      ...     folder.mkdir()
      ...     np.save(folder / "fog.npy", np.zeros((10, 8, 8, 1), np.uint8))  # 2 at a severity
      ...     load_corrupted("mine-c", corruption="fog", severity=3, root=root).x.shape
      (2, 8, 8, 1)
    """
    if name in OFFICIAL:
        _, stored = locate(name, root)
        return read_condition(stored, corruption, severity)
    folder = cache_folder(root) / name
    if not folder.is_dir():
        raise UserError(f"`{folder}` is no folder; make it by `pxsgmcmc data corrupt`.")
    # The number of classes is not written in this layout.
    return read_condition(Stored(folder), corruption, severity, records=None, classes=1 << 31)
