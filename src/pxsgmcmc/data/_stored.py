"""Where a data set lies on disk: in its archive, or in the folder the archive unpacks to."""

import gzip
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pxsgmcmc.data._archives import LimitOf, members
from pxsgmcmc.data._faults import damaged, parsing


class Stored(NamedTuple):
    """An archive or a folder. Readers name files relative to the set's own folder in both."""

    path: Path
    prefix: str = ""  # the archive's top folder, such as "cifar-10-batches-bin"
    most_bytes: int = 1 << 30  # what an archive may unpack to

    def where(self, name: str) -> str:
        """The name of a file in messages."""
        return str(self.path / name) if self.path.is_dir() else f"{self.path}: {name}"

    def remedy(self) -> str:
        """What to do when files are missing."""
        return "unpack the archive again" if self.path.is_dir() else "download it again"


def read_files(stored: Stored, limits: Mapping[str, int]) -> dict[str, bytes]:
    """The bytes of the named files, all of which must be there and within their limits.

    In a folder, `name.gz` serves where `name` is missing.
    """
    contents = dict(each_file(stored, limits.get, names=tuple(limits)))
    missing = [name for name in limits if name not in contents]
    if not missing:
        return contents
    top = "" if contents or stored.path.is_dir() else _top_folder(stored)
    if top not in ("", stored.prefix):
        fault = f"holds {top}, where {stored.prefix or missing[0]} was meant"
        raise damaged(stored.path, fault, "give each archive the name it was published under")
    fault = f"lacks {missing[0]} ({len(missing)} of its {len(limits)} files are missing)"
    raise damaged(stored.path, fault, stored.remedy())


def each_file(
    stored: Stored, limit_of: LimitOf, names: tuple[str, ...] | None = None
) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each wanted file, one at a time.

    Args:
      stored: where to look.
      limit_of: the most bytes wanted of a file, None for files to pass over.
      names: the files to look for in a folder; all that it holds, in sorted order, when None.
    """
    if stored.path.is_dir():
        yield from _folder_files(stored.path, limit_of, names)
        return
    prefix = stored.prefix + "/" if stored.prefix else ""

    def limit_of_member(member: str) -> int | None:
        return limit_of(member.removeprefix(prefix)) if member.startswith(prefix) else None

    for member, data in members(stored.path, limit_of_member, most_bytes=stored.most_bytes):
        yield member.removeprefix(prefix), data


def gunzip(data: bytes, where: str | Path, limit: int) -> bytes:
    """Unpack gzip bytes, refusing more than `limit` of them."""
    with parsing(where, "gzip file"):
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            unpacked = file.read(limit + 1)
    if len(unpacked) > limit:
        raise damaged(where, f"unpacks to more than the {limit:,} bytes that belong in it")
    return unpacked


def _top_folder(stored: Stored) -> str:
    tops: list[str] = []
    for _ in members(
        stored.path,
        lambda name: tops.append(name.split("/")[0]),
        most_bytes=stored.most_bytes,
    ):
        pass
    return tops[0] if tops else ""


def _folder_files(
    folder: Path, limit_of: LimitOf, names: tuple[str, ...] | None
) -> Iterator[tuple[str, bytes]]:
    if names is None:
        paths = (path for path in folder.rglob("*") if path.is_file())
        names = tuple(sorted(path.relative_to(folder).as_posix() for path in paths))
    for name in names:
        limit = limit_of(name)
        if limit is None:
            continue
        path, packed = folder / name, folder / f"{name}.gz"
        if path.is_file():
            yield name, _read_bounded(path, limit)
        elif packed.is_file():
            # Deflate may enlarge what it cannot shrink, by a few bytes in a block.
            data = _read_bounded(packed, limit + limit // 100 + 1000)
            yield name, gunzip(data, packed, limit)


def _read_bounded(path: Path, limit: int) -> bytes:
    with parsing(path, "file"), path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise damaged(path, f"is larger than the {limit:,} bytes that belong in it")
    return data
