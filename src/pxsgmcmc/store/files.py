"""Files that are either whole or not there: write beside, flush to the disk, rename.

Every byte of a run directory is written through this file, so that a full disk is met in one place,
and every byte is read through it, so that a symbolic link, a pipe or a device is never opened.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.store.sealed import digest

PART = ".part"  # what a file is called until it is whole
SECTOR = 512  # bytes that a disk writes whole or not at all
FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}  # the disk, a limit of the shell, a quota


class StorageFull(UserError):
    """The disk, the quota or the file-size limit is used up; what was committed before is safe."""


class Missing(CorruptRun):
    """A file that should be in a run directory is not there."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the system's errors into one sentence about `path`."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise StorageFull(
                f"`{path}` could not be written, the storage is full ({error.strerror}); what was "
                "written before is safe: make room, then give the same command again, `run` with "
                "`--resume` (in Python with `resume=True`)."
            ) from error
        raise UserError(
            f"`{path}` could not be written ({error.strerror}): choose another folder (`out`), or "
            "make this one writable."
        ) from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """As `writing`: what may not be read is the user's to allow, what cannot be read is damage."""
    try:
        yield
    except FileNotFoundError as error:
        raise Missing(f"`{path}` is missing.") from error
    except PermissionError as error:
        raise UserError(f"`{path}` may not be read: {error.strerror}.") from error
    except OSError as error:
        raise CorruptRun(f"`{path}` cannot be read: {error.strerror}.") from error


def beside(path: Path) -> Path:
    """Where a file is written before it is renamed to `path`.

    Example:
      >>> beside(Path("draws/000001.safetensors")).name
      '000001.safetensors.part'
    """
    return path.with_name(path.name + PART)


def write_all(descriptor: int, data: bytes, offset: int) -> None:
    """Write all of `data` at `offset`: one call of the system may take only a part of it."""
    rest = memoryview(data)
    while rest:
        written = os.pwrite(descriptor, rest, offset)
        rest, offset = rest[written:], offset + written


def write_beside(path: Path, data: bytes) -> None:
    """Put `data` on the disk under the name `beside(path)`; on an error nothing stays behind."""
    part = beside(path)
    with writing(path):
        part.unlink(missing_ok=True)
        try:
            # O_EXCL: never through a link that somebody put there.
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            try:
                write_all(descriptor, data, 0)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            sync_folder(path.parent)
        except OSError:
            part.unlink(missing_ok=True)
            raise


def put_in_place(path: Path) -> None:
    """Rename `beside(path)` to `path`: in one instant the new file is there and the old is not."""
    with writing(path):
        os.replace(beside(path), path)


def write_file(path: Path, data: bytes) -> None:
    """Create or replace `path`: after a crash it holds all of the old or all of the new bytes."""
    write_beside(path, data)
    try:
        put_in_place(path)
        with writing(path):
            sync_folder(path.parent)
    except UserError:
        beside(path).unlink(missing_ok=True)
        raise


def append(path: Path, data: bytes, end: int) -> None:
    """Put `data` after the first `end` bytes of `path`; on an error, only these are left."""
    with writing(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            size = os.fstat(descriptor).st_size
            if size < end:
                raise CorruptRun(f"`{path}` has lost {end - size} bytes since it was opened.")
            if size > end:
                os.ftruncate(descriptor, end)
                os.fsync(descriptor)  # or a power cut could leave the new bytes and the old end
            if data:
                write_all(descriptor, data, end)
                os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, end)
            raise
        finally:
            os.close(descriptor)


def cut(path: Path, end: int) -> None:
    """Keep the first `end` bytes of `path`."""
    append(path, b"", end)


def make_folders(folder: Path) -> None:
    """Make `folder` and those above it that are not there; they survive a power cut."""
    with writing(folder):
        missing = [place for place in (folder, *folder.parents) if not place.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        for place in dict.fromkeys([folder, *missing]):  # one made just now may not be flushed
            sync_folder(place.absolute().parent)


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_plain(path: Path) -> int:
    """Open a regular file for reading, and nothing else: no link, pipe, device or folder."""
    with reading(path):
        if stat.S_ISLNK(os.lstat(path).st_mode):
            raise CorruptRun(
                f"`{path}` is a symbolic link; a run directory holds plain files only."
            )
        # O_NONBLOCK: opening a pipe would otherwise wait for its other end.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise CorruptRun(f"`{path}` is not a regular file; a run directory holds plain files only.")
    return descriptor


def read_file(path: Path, *, at_most: int) -> bytes:
    """The bytes of a regular file; if there are over `at_most`, it is refused and not read."""
    with os.fdopen(open_plain(path), "rb") as file, reading(path):
        size = os.fstat(file.fileno()).st_size
        if size > at_most:
            raise CorruptRun(f"`{path}` has {size} bytes where at most {at_most} are expected.")
        return file.read(size)


def read_hashed(path: Path, size: int, sha256: str) -> bytes:
    """The bytes with this hash: from `path`, or beside it if the writer stopped just before."""
    # A writer at work may rename between two looks; the third finds what the first two missed.
    for place in (path, beside(path), path):
        try:
            data = read_file(place, at_most=size)
        except CorruptRun:
            continue
        if len(data) == size and digest(data) == sha256:
            return data
    read_file(path, at_most=size)  # says what is wrong with the file itself, if anything is
    raise CorruptRun(f"`{path}` is not as it was written: its SHA-256 differs.")


def check_folder(path: Path) -> None:
    """Refuse anything but a real folder at `path`."""
    with reading(path):
        mode = os.lstat(path).st_mode
    if not stat.S_ISDIR(mode):
        raise CorruptRun(f"`{path}` is not a folder; a run directory has no links in their place.")


@contextmanager
def whole_file(path: Path, *, replace: bool) -> Iterator[IO[bytes]]:
    """A file that gets its name when it is whole, for what is too large to hold in memory.

    Args:
      path: its name.
      replace: whether a file that has this name by then may be replaced.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}{PART}")
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if not replace:
            # No hard links on this file system: the name is given by a rename.
            with suppress(PermissionError, NotImplementedError):
                os.link(part, path)  # unlike a rename, it never replaces
                return
        os.replace(part, path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
