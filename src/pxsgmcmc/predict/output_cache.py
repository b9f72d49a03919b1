"""What each draw says, in a file that is mapped, not read: curves over draws cost no forward pass.

The file is a line of JSON, filled up to 4096 bytes, then a block per draw: 32 bytes that identify
the draw, and its rows in float32. A block that was cut short is written again.
"""

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import jax
import numpy as np

from pxsgmcmc.errors import UserError, check_count
from pxsgmcmc.types import Tree

_HEAD = 4096


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            f"`{path}` could not be written ({error.strerror}): make room there, or make its "
            "folder writable."
        ) from error


class OutputCache:
    """Rows of a growing number of draws on one set of inputs.

    Args:
      path: of the file; made if it is not there.
      x: the inputs; a file made for others is refused.
      numbers: how many a row has.
      of: what the draws belong to, such as the digest of a configuration; a file made for another
        is refused, since two runs would take turns in throwing each other's rows away.

    Example:
      >>> import tempfile, os
      >>> x = np.zeros((3, 2))
      >>> kept = OutputCache(os.path.join(tempfile.mkdtemp(), "a.outputs"), x, numbers=4)
      >>> kept.append(0, b"d" * 32, [np.ones((3, 4), np.float32)])
      >>> kept.array().shape
      (1, 3, 4)
    """

    def __init__(self, path: str | Path, x: Any, numbers: int, of: str = ""):
        check_count("numbers", numbers, at_least=1)
        self.path = Path(path)
        self.rows, self.numbers = len(x), numbers
        self._block = np.dtype([("draw", "V32"), ("values", "<f4", (self.rows, numbers))])
        head = {"rows": self.rows, "numbers": numbers, "inputs": _digest_of_rows(x), "of": of}
        text = json.dumps(head).encode().ljust(_HEAD - 1) + b"\n"
        with _writing(self.path):
            if not os.path.lexists(self.path):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                _make(self.path, text)
            if not stat.S_ISREG(os.lstat(self.path).st_mode) or _start(self.path) != text:
                raise UserError(
                    f"`{self.path}` is something else than outputs of this run for these inputs; "
                    "name another file."
                )

    def __len__(self) -> int:
        """How many draws it holds."""
        return (self.path.stat().st_size - _HEAD) // self._block.itemsize

    def has(self, number: int, digest: bytes) -> bool:
        """Whether block `number`, from 0, is of the draw with this digest."""
        return number < len(self) and bytes(self._blocks()[number]["draw"]) == digest

    def append(self, number: int, digest: bytes, batches: Iterable[np.ndarray]) -> None:
        """Write block `number`, whose rows come in batches; later blocks are dropped."""
        with _writing(self.path), open(self.path, "r+b") as file:
            file.truncate(_HEAD + number * self._block.itemsize)
            file.seek(0, 2)
            file.write(digest)
            written = 0
            for batch in batches:
                if batch.ndim != 2 or batch.shape[1] != self.numbers:
                    raise UserError(
                        f"`{self.path}` keeps {self.numbers} numbers a row, got {batch.shape}."
                    )
                file.write(np.ascontiguousarray(batch, "<f4").tobytes())
                written += len(batch)
            if written != self.rows:
                raise UserError(f"`{self.path}` keeps {self.rows} rows a draw, got {written}.")

    def read(self, number: int) -> np.ndarray:
        """The rows of one draw, mapped, (rows, numbers)."""
        return self._blocks()[number]["values"]

    def array(self) -> np.ndarray:
        """All rows, mapped, (draws, rows, numbers)."""
        return self._blocks()["values"]

    def _blocks(self) -> np.ndarray:
        return np.memmap(self.path, self._block, "r", offset=_HEAD, shape=(len(self),))


def _make(path: Path, head: bytes) -> None:
    """A new file that is there with its head or not at all, and never replaces another."""
    descriptor, part = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(head)
        with suppress(FileExistsError):  # another process made it meanwhile; it is looked at next
            os.link(part, path)
    finally:
        os.unlink(part)


def _start(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(_HEAD)


def digest_of(params: Tree) -> bytes:
    """32 bytes that identify the values of a tree."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(params):
        array = np.asarray(leaf)
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


def _digest_of_rows(x: Any, block: int = 4096) -> str:
    digest = hashlib.sha256(f"{x.dtype}{x.shape}".encode())
    for start in range(0, len(x), block):
        digest.update(np.ascontiguousarray(x[start : start + block]).tobytes())
    return digest.hexdigest()
