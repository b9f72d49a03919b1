"""Memory that a run keeps from step to step."""

import ctypes
import os
from contextlib import suppress

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # as in <malloc.h>


def keep_freed_memory() -> None:
    """Let the C library keep what a step frees, where it is glibc and the user has not tuned it.

    XLA frees what a step works in when the step ends. By default the kernel gets it back, and the
    next step has to ask for every page of it again; docs/performance.md has what that costs.
    """
    if "GLIBC_TUNABLES" in os.environ:
        return
    with suppress(OSError, AttributeError, TypeError):  # another C library, or none to be found
        tune = ctypes.CDLL(None).mallopt
        tune(M_MMAP_MAX, 0)
        tune(M_TRIM_THRESHOLD, 2**31 - 1)
