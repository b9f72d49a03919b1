"""What the C library is asked for: how it uses memory, and that a process ends with another."""

import ctypes
import os
import signal
import sys
from contextlib import suppress

TUNABLES = "GLIBC_TUNABLES"
SWITCH = "PXSGMCMC_LARGE_PAGES"  # 0 keeps small pages
LARGE_PAGES = "glibc.malloc.hugetlb=1"
_PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>


def start_with_large_pages() -> None:
    """Start this process again with large pages asked for, unless the user has tuned glibc.

    XLA frees what a step works in when the step ends, and the next step touches every page of it
    anew; docs/performance.md has what that costs. Pages of 2 MB are touched 512 times less often.
    glibc reads this wish before anything else runs, so a process cannot make it for itself.
    """
    unwanted = os.environ.get(SWITCH, "1") == "0"
    if sys.platform != "linux" or unwanted or TUNABLES in os.environ or not sys.executable:
        return
    with suppress(OSError):  # then with small pages
        command = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, command, os.environ | {TUNABLES: LARGE_PAGES})


def give_back_freed_memory() -> None:
    """Return what is free now to the system: compiling leaves more of it than a network weighs."""
    with suppress(OSError, AttributeError, TypeError):  # another C library, or none to be found
        ctypes.CDLL(None).malloc_trim(0)


def end_with(parent: int) -> None:
    """Let the kernel end this process as soon as its parent is gone, on Linux.

    Args:
      parent: number of the process that started this one, which may be gone by now.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
