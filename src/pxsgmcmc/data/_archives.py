"""Reading tar and zip archives that may be hostile: nothing is unpacked, members come as bytes.

Every member is looked at before any is used. Refused: names that leave the folder, links, devices,
sparse files, encryption, more bytes than the data set has, and compression no image reaches.
"""

import gzip
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from pxsgmcmc.data._faults import damaged, parsing

# Member name -> the most bytes wanted of it, or None to pass it over.
LimitOf = Callable[[str], int | None]

MOST_MEMBERS = 250_000  # the largest official archive, TinyImageNet, has 120,609
MOST_RATIO = 100  # images hardly compress; deflate reaches 1,032
RATIO_FREE = 1 << 20  # bytes a member may have whatever its ratio


def members(path: Path, limit_of: LimitOf, *, most_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each wanted file of the tar, tar.gz or zip archive at `path`.

    Args:
      path: the archive; its kind is told by its first bytes, not by its name.
      limit_of: the most bytes wanted of a member, None for members to pass over.
      most_bytes: unpacked size of all members together above which the archive is refused.
    """
    with parsing(path, "file"):
        file = path.open("rb")
    with file:
        yield from members_of(file, path, limit_of, most_bytes=most_bytes)


def members_of(
    file: BinaryIO, where: str | Path, limit_of: LimitOf, *, most_bytes: int
) -> Iterator[tuple[str, bytes]]:
    """As `members`, of an open file called `where` in messages."""
    start = file.read(2)
    file.seek(0)
    if start == b"PK":
        yield from zip_members(file, where, limit_of, most_bytes=most_bytes)
    elif start == b"\x1f\x8b":
        with gzip.GzipFile(fileobj=file) as unpacked:
            tar = cast(BinaryIO, unpacked)
            yield from tar_members(tar, where, limit_of, most_bytes=most_bytes)
    else:
        yield from tar_members(file, where, limit_of, most_bytes=most_bytes)


def tar_members(
    file: BinaryIO, where: str | Path, limit_of: LimitOf, *, most_bytes: int
) -> Iterator[tuple[str, bytes]]:
    """As `members`, of an open tar file."""
    with parsing(where, "tar archive"):
        with tarfile.TarFile(fileobj=cast(BinaryIO, _Bounded(file, where, most_bytes))) as tar:
            for name, member in _regular_members(tar, where, most_bytes):
                limit = limit_of(name)
                if limit is None:
                    continue
                _check_size(where, name, member.size, limit)
                content = tar.extractfile(member)
                assert content is not None  # it is a regular file
                yield name, content.read()


def tar_offsets(path: Path, *, most_bytes: int) -> dict[str, tuple[int, int]]:
    """Where each file of an uncompressed tar lies: name -> (offset, size), for memory maps."""
    with parsing(path, "tar archive"), path.open("rb") as file:
        with tarfile.TarFile(fileobj=cast(BinaryIO, _Bounded(file, path, most_bytes))) as tar:
            members = _regular_members(tar, path, most_bytes)
            return {name: (member.offset_data, member.size) for name, member in members}


def zip_members(
    file: BinaryIO, where: str | Path, limit_of: LimitOf, *, most_bytes: int
) -> Iterator[tuple[str, bytes]]:
    """As `members`, of an open zip file."""
    with parsing(where, "zip archive"):
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            _check_totals(where, len(infos), sum(info.file_size for info in infos), most_bytes)
            named = [(_safe_name(where, info.filename), info) for info in infos]
            for name, info in named:
                _check_zip_member(where, name, info)
            for name, info in named:
                limit = None if info.is_dir() else limit_of(name)
                if limit is None:
                    continue
                _check_size(where, name, info.file_size, limit)
                with archive.open(info) as content:
                    data = content.read(limit + 1)
                if len(data) != info.file_size:
                    raise damaged(where, f"holds {name} with another size than it declares")
                yield name, data


class _Bounded:
    """A binary file that refuses to be read, or passed through, for more than `most` bytes.

    tarfile believes the sizes it reads: an extended header may declare gigabytes, or a negative
    number that sends it back to where it was, for ever.
    """

    def __init__(self, file: BinaryIO, where: str | Path, most: int):
        self._file, self._where, self._most = file, where, most

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= self._most:
            raise damaged(self._where, "declares a member of impossible size")
        return self._file.read(size)

    def seek(self, position: int, whence: int = 0) -> int:
        if whence != 0 or not 0 <= position <= self._most:
            raise damaged(self._where, "declares a member of impossible size")
        return self._file.seek(position)

    def tell(self) -> int:
        return self._file.tell()


def _regular_members(
    tar: tarfile.TarFile, where: str | Path, most_bytes: int
) -> Iterator[tuple[str, tarfile.TarInfo]]:
    total, end = 0, 0
    for count, member in enumerate(tar, start=1):
        name = _safe_name(where, member.name)
        total += member.size
        _check_totals(where, count, total, most_bytes)
        if member.size < 0 or member.offset < end:
            raise damaged(where, f"declares {name} with an impossible size")
        end = member.offset_data
        if member.isdir():
            continue
        if not member.isreg() or member.issparse():
            raise damaged(where, f"holds {name}, a link, device or other special file")
        yield name, member


def _safe_name(where: str | Path, name: str) -> str:
    parts = name.replace("\\", "/").split("/")
    absolute = parts[0] == "" or ":" in parts[0]
    if absolute or ".." in parts:
        raise damaged(where, f"holds a file named {name!r} that would be put outside its folder")
    return "/".join(part for part in parts if part not in ("", "."))


def _check_totals(where: str | Path, count: int, total: int, most_bytes: int) -> None:
    if count > MOST_MEMBERS:
        raise damaged(where, f"holds more than {MOST_MEMBERS:,} files")
    if total > most_bytes:
        raise damaged(where, f"would unpack to more than {most_bytes:,} bytes")


def _check_size(where: str | Path, name: str, size: int, limit: int) -> None:
    if size > limit:
        raise damaged(where, f"holds {name} of {size:,} bytes where at most {limit:,} belong")


def _check_zip_member(where: str | Path, name: str, info: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise damaged(where, f"holds {name}, a link, device or other special file")
    if info.flag_bits & 0x1:
        raise damaged(where, f"holds {name} encrypted")
    if info.file_size > RATIO_FREE and info.file_size > MOST_RATIO * max(info.compress_size, 1):
        raise damaged(where, f"holds {name} compressed more than {MOST_RATIO} times, as a bomb is")
