"""A folder that fsspec reaches: bytes by name, and every failure in one sentence."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pxsgmcmc.errors import CorruptRun, UserError, one_line
from pxsgmcmc.store.files import FULL, PART, read_file
from pxsgmcmc.store.targets import check_outside

# Their folders are parts of names: asked to make one, they may make a bucket.
_NO_FOLDERS = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az"}
_GLOBS = re.compile(r"[*?\[\]]")


class Place:
    """Where a URL points.

    Attributes:
      url: as it was given, without a password.
    """

    def __init__(self, url: str):
        try:
            import fsspec
        except ImportError as error:
            raise UserError(
                "Moving runs needs fsspec: install it with `pip install 'pxsgmcmc[remote]'`."
            ) from error
        self.url = re.sub(r"://[^/@]*@", "://", url).rstrip("/")
        if _GLOBS.search(url):
            raise UserError(f"A URL to move runs to has none of * ? [ ], got {one_line(self.url)}.")
        try:
            self._system, root = fsspec.core.url_to_fs(url)
            self._system.invalidate_cache()  # others may have written since it was last listed
        except Exception as error:  # each protocol has errors of its own
            raise UserError(f"`{self.url}` cannot be reached: {error}.") from error
        self._root = root.rstrip("/")
        protocol = self._system.protocol
        self._protocols = {protocol} if isinstance(protocol, str) else set(protocol)

    @property
    def folder(self) -> Path | None:
        """The folder of this machine that it is, if it is one."""
        return Path(self._root) if "file" in self._protocols else None

    def check(self) -> None:
        """Refuse a folder of this machine in which a link would lead what is written elsewhere."""
        if self.folder is None:
            return
        check_outside(self.folder, "url")
        links = (path for path in self.folder.rglob("*") if path.is_symlink())
        if (link := next(links, None)) is not None:
            raise UserError(f"`{link}` is a symbolic link, through which nothing is written.")

    def sizes(self) -> dict[str, int]:
        """Relative name -> bytes, of every object there is."""
        with self._asking("listed"):
            if self._root and self._system.isfile(self._root):
                raise UserError(f"`{self.url}` must be a folder, but it is a file.")
            entries: dict[str, Any] = self._system.find(self._root, detail=True)
        start = len(self._root) + 1
        return {path[start:]: int(facts["size"]) for path, facts in entries.items()}

    def read(self, name: str, at_most: int) -> bytes | None:
        """The bytes of an object; None if it is not there, no file, or has over `at_most`."""
        if self.folder is not None:
            try:
                return read_file(self.folder / name, at_most=at_most)
            except CorruptRun:  # not there, too large, or a link, a pipe or a device
                return None
        with self._asking("read", name):
            try:
                with self._system.open(self._path(name), "rb") as file:
                    data = file.read(at_most + 1)
            except FileNotFoundError:
                return None
        return data if len(data) <= at_most else None

    def write(self, name: str, data: bytes) -> None:
        """Write under another name, read it back, and only then give it its own."""
        part = name + PART
        with self._asking("written", name):
            if not self._protocols & _NO_FOLDERS:
                self._system.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)
            with self._system.open(self._path(part), "wb") as file:
                file.write(data)
        if self.read(part, len(data)) != data:
            raise CorruptRun(
                f"`{self.url}/{part}` did not come back as it was sent: send it again, and if it "
                "stays so, choose another place."
            )
        with self._asking("written", name):
            self._system.mv(self._path(part), self._path(name))

    def remove(self, name: str) -> None:
        """Take an object away."""
        with self._asking("removed", name):
            self._system.rm_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    @contextmanager
    def _asking(self, done: str, name: str = "") -> Iterator[None]:
        """What goes wrong on the way, as a sentence: each protocol has errors of its own."""
        try:
            yield
        except (UserError, CorruptRun):
            raise
        except Exception as error:
            place = f"{self.url}/{name}" if name else self.url
            if isinstance(error, OSError) and error.errno in FULL:
                raise UserError(
                    f"`{place}` could not be {done}, the storage there is full ({error.strerror}): "
                    "make room and give the same command again, which sends only what is not "
                    "there yet, or choose another place."
                ) from error
            why = str(error) or type(error).__name__
            raise UserError(
                f"`{place}` could not be {done}: {why}; what is there already is not moved again "
                "by the same command."
            ) from error
