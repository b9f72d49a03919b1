"""The file of a frozen predictor: a zip archive, nothing compressed, nothing executed.

    manifest.json         what it is, where it came from, SHA-256 of every other member
    draw.stablehlo        the two programs, by `jax.export`
    average.stablehlo
    draws/000001.npy ...  the weights of a draw, laid end to end in the order of the manifest

The same run, options and versions give the same bytes.
"""

import hashlib
import io
import json
import zipfile
from typing import IO, Any

import numpy as np

FORMAT, VERSION = "pxsgmcmc predictor", 1


class Writer:
    """Members of a predictor's file, one after the other; the manifest comes last.

    Args:
      file: open for writing, in binary.
    """

    def __init__(self, file: IO[bytes]):
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self._sha256: dict[str, str] = {}

    def __enter__(self) -> "Writer":
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the archive, a broken one too, before its file is closed."""
        self._zip.close()

    def add(self, name: str, data: bytes) -> None:
        """A member."""
        self._sha256[name] = hashlib.sha256(data).hexdigest()
        self._zip.writestr(zipfile.ZipInfo(name), data)  # its date is 1980, always

    def add_array(self, name: str, array: np.ndarray) -> None:
        """An array, as NumPy writes it."""
        data = io.BytesIO()
        np.save(data, array, allow_pickle=False)
        self.add(name, data.getvalue())

    def finish(self, manifest: dict[str, Any]) -> None:
        """The manifest, with the hashes of all that was added."""
        whole = {"format": FORMAT, "version": VERSION, **manifest, "sha256": self._sha256}
        text = json.dumps(whole, indent=1, ensure_ascii=False)
        self._zip.writestr(zipfile.ZipInfo("manifest.json"), text.encode())
