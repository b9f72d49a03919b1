"""One writer to a run directory.

The file `lock` names the process that writes: its id, its host and the moment it started, since ids
are used again. A lock whose process is gone is taken over. The kernel's lock on that file is held
only while the file is read and rewritten, so that two processes cannot both take over: held for
longer, it would pass to every process that the writer forks and outlive it.
"""

import fcntl
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.store import files, sealed

LOCK = "lock"


class Holder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The process that writes."""

    process: int
    host: str
    started: str


def myself() -> Holder:
    """This process."""
    return Holder(os.getpid(), socket.gethostname(), _started(os.getpid()) or "unknown")


def acquire(folder: Path) -> None:
    """Become the writer of `folder`, or raise `UserError` naming who is."""
    with files.writing(folder / LOCK), _opened(folder / LOCK) as descriptor:
        data = os.pread(descriptor, 4096, 0)
        holder = _read(folder / LOCK, data)
        if holder is not None and may_be_alive(holder):
            remedy = "wait for it or stop it"
            if holder.host != socket.gethostname():
                remedy = f"if it is gone, remove `{folder / LOCK}`"
            raise UserError(
                f"`{folder}` is being written by process {holder.process} "
                f"on {holder.host}: {remedy}."
            )
        try:
            line, _ = sealed.seal_line(msgspec.structs.asdict(myself()), LOCK)
            files.write_file(folder / LOCK, line)
        except UserError:
            if not data:
                os.unlink(folder / LOCK)
            raise


def release(folder: Path) -> None:
    """Stop being the writer of `folder`."""
    if not os.path.lexists(folder / LOCK):
        return
    with files.writing(folder / LOCK), _opened(folder / LOCK) as descriptor:
        if _read(folder / LOCK, os.pread(descriptor, 4096, 0)) in (None, myself()):
            os.unlink(folder / LOCK)


def writer(folder: Path) -> Holder | None:
    """The process that writes to `folder`; None if there is none, or if it is gone."""
    try:
        holder = _read(folder / LOCK, files.read_file(folder / LOCK, at_most=4096))
    except files.Missing:
        return None
    return holder if holder is not None and may_be_alive(holder) else None


def may_be_alive(holder: Holder) -> bool:
    """Whether that very process still runs; of another host nothing is known."""
    return holder.host != socket.gethostname() or _started(holder.process) == holder.started


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """The lock file under the kernel's lock, made if it is not there."""
    while True:
        if os.path.lexists(path):
            _refuse_all_but_a_file(path)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_still(descriptor, path):
                yield descriptor
                return
        finally:
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


def _read(path: Path, data: bytes) -> Holder | None:
    if not data:
        return None
    try:
        return msgspec.convert(sealed.unseal_line(data, LOCK)[0], Holder)
    except (ValueError, msgspec.ValidationError) as error:
        raise CorruptRun(f"`{path}` is damaged; if no process writes there, remove it.") from error


def _started(process: int) -> str | None:
    """When a process started, which tells it from others of the same id; None if it is gone."""
    try:
        # The name, in brackets, may hold spaces and brackets itself. proc(5): state is field 3,
        # the start in clock ticks since boot is field 22.
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except FileNotFoundError:
        return None if Path("/proc/self").exists() else _started_by_ps(process)
    except ProcessLookupError:
        return None
    dead = fields[0] in "ZX"  # killed, and not yet waited for by its parent
    return None if dead else f"{boot}:{fields[19]}"


def _started_by_ps(process: int) -> str | None:
    """As `_started`, on systems without /proc."""
    command = ["ps", "-o", "lstart=", "-p", str(process)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or None
