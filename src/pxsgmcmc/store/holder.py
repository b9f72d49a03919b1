"""The process that holds a lock, and what another process can know of it.

A process number alone tells little: it is used again, and in a container it counts from 1 anew. So
a holder also names its host, the boot of that host, the namespaces in which its number and its
start are counted, and the moment it started. Only a process for which all of these are the same
looks it up; of any other, nothing is known but that its lock is renewed or is not.
"""

import os
import secrets
import socket
import subprocess
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec

from pxsgmcmc.store import sealed

LONGEST_LEASE = 3600.0  # seconds
UNKNOWN = "unknown"

_Text = Annotated[str, msgspec.Meta(pattern="^[ -~]*$", max_length=255)]  # fit for a terminal

Condition = Literal["gone", "running", "stopped", "unknown"]


class ProcessPlace(NamedTuple):
    """Where a process number means something."""

    host: str
    boot: str
    namespaces: str


class Holder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of a lock file.

    Attributes:
      process: number of the process that writes.
      host: its host's name.
      boot: which boot of that host.
      namespaces: of process numbers and of time, as Linux names them.
      started: when the process started, in the units of that system.
      token: made at random whenever the lock is taken; whose token it is may write.
      lease: seconds without a beat after which another process may take over.
      beats: how often the lock was renewed.
    """

    process: Annotated[int, msgspec.Meta(gt=0, lt=2**31)]
    host: _Text
    boot: _Text
    namespaces: _Text
    started: _Text
    token: _Text
    lease: Annotated[float, msgspec.Meta(gt=0, le=LONGEST_LEASE)]
    beats: sealed.Count = 0

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return f"process {self.process} on {self.host}"

    def condition(self) -> Condition:
        """What is certain of the process; "unknown" if nothing is."""
        here = this_place()
        if ProcessPlace(self.host, self.boot, self.namespaces) != here or UNKNOWN in (
            *here,
            self.started,
        ):
            return "unknown"
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return "gone"
        except PermissionError:  # of another user, and there
            pass
        status = _look_up(self.process)
        if status is None:  # /proc hides the processes of others (its option hidepid)
            return "unknown"
        state, started = status
        if started != self.started or state in "ZX":  # Z: dead, its parent did not notice yet
            return "gone"
        return "stopped" if state in "Tt" else "running"


def myself(lease: float) -> Holder:
    """This process, with a new token."""
    status = _look_up(os.getpid())
    return Holder(
        os.getpid(),
        *this_place(),
        started=status[1] if status else UNKNOWN,
        token=secrets.token_hex(16),
        lease=lease,
    )


def this_place() -> ProcessPlace:
    """Where this process is."""
    host = socket.gethostname().encode("ascii", "replace").decode()[:64]
    if not Path("/proc/self").exists():
        return ProcessPlace(host, "none", "none")  # a system without namespaces
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        spaces = [os.readlink("/proc/self/ns/pid")]
        if os.path.lexists("/proc/self/ns/time"):  # Linux 5.6 and later
            spaces.append(os.readlink("/proc/self/ns/time"))
        if int(os.readlink("/proc/self")) != os.getpid():
            return ProcessPlace(host, boot, UNKNOWN)  # this /proc is that of another namespace
    except OSError:
        return ProcessPlace(host, UNKNOWN, UNKNOWN)
    return ProcessPlace(host, boot, " ".join(spaces))


def _look_up(process: int) -> tuple[str, str] | None:
    """The state of a process, by its letter, and when it started; None if it cannot be seen."""
    try:
        # The name, in brackets, may hold spaces and brackets itself. proc(5): state is field 3,
        # the start in clock ticks since boot is field 22.
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return fields[0], fields[19]
    except OSError:
        return None if Path("/proc/self").exists() else _ask_ps(process)


def _ask_ps(process: int) -> tuple[str, str] | None:
    """As `_look_up`, on systems without /proc."""
    command = ["ps", "-o", "state=,lstart=", "-p", str(process)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    state, _, started = answer.stdout.strip().partition(" ")
    return (state[:1], started.strip()) if state else None
