"""The file that names the writer of a folder, read and changed under the kernel's lock on it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.store import files, sealed
from pxsgmcmc.store.holder import Holder

LOCK = "lock"
_MOST = 8 * files.SECTOR  # bytes


def encode(holder: Holder) -> bytes:
    """The bytes of a lock file, which fill whole sectors, so that a beat changes no size."""
    line, _ = sealed.seal_line(msgspec.structs.asdict(holder), LOCK)
    return _fill(line)


def _fill(line: bytes) -> bytes:
    return line.ljust(-(-len(line) // files.SECTOR) * files.SECTOR)


@contextmanager
def opened(path: Path, *, make: bool, wait: bool) -> Iterator[int | None]:
    """The lock file under the kernel's lock; None if that is taken, unless told to wait for it."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | (os.O_CREAT if make else 0)
    while True:
        if os.path.lexists(path):
            _refuse_all_but_a_file(path)
        descriptor = os.open(path, flags, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(descriptor)
            yield None
            return
        except BaseException:
            os.close(descriptor)
            raise
        try:
            if _is_still(descriptor, path):
                yield descriptor
                return
        finally:
            # Not by closing alone: a process forked meanwhile has the descriptor as well.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _refuse_all_but_a_file(path: Path) -> None:
    try:
        os.close(files.open_plain(path))
    except files.Missing:  # its holder removed it just now
        pass


def _is_still(descriptor: int, path: Path) -> bool:
    """Whether `path` is the file that was opened: somebody may have replaced it meanwhile."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def read(path: Path, descriptor: int) -> Holder | None:
    """The holder in an opened lock file; None if it is empty."""
    return _decode(path, os.pread(descriptor, _MOST, 0))


def peek(path: Path) -> Holder | None:
    """The holder, read without the kernel's lock; None if there is none."""
    try:
        return _peek_once(path)
    except CorruptRun:  # a beat may have been on its way; what is damaged stays so
        return _peek_once(path)


def _peek_once(path: Path) -> Holder | None:
    try:
        return _decode(path, files.read_file(path, at_most=_MOST))
    except files.Missing:
        return None


def _decode(path: Path, data: bytes) -> Holder | None:
    if not data:
        return None
    line = data[: data.find(b"\n") + 1]
    try:
        if data != _fill(line):
            raise ValueError("it is not filled up as it was")
        return msgspec.convert(sealed.unseal_line(line, LOCK)[0], Holder)
    except (ValueError, msgspec.ValidationError) as error:
        raise CorruptRun(f"`{path}` is damaged; if no process writes there, remove it.") from error


def put(path: Path, holder: Holder) -> None:
    """Make `holder` the one that `path` names; call it under the kernel's lock."""
    try:
        files.write_file(path, encode(holder))
    except UserError:
        # Made for this and empty, or in place and only the last flush failed.
        if peek(path) in (None, holder):
            os.unlink(path)
        raise


def beat(descriptor: int, holder: Holder) -> None:
    """Overwrite an opened lock file with its holder's new count."""
    os.pwrite(descriptor, encode(holder), 0)
