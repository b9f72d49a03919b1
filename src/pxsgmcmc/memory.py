"""What the C library does with memory that was freed, where it is glibc."""

import ctypes
import os
from contextlib import suppress

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # as in <malloc.h>


def keep_freed_memory() -> None:
    """Let it keep what a step frees, unless the user has tuned it.

    XLA frees what a step works in when the step ends. By default the kernel gets it back, and the
    next step has to ask for every page of it again; docs/performance.md has what that costs.
    """
    if "GLIBC_TUNABLES" in os.environ:
        return
    with suppress(OSError, AttributeError, TypeError):  # another C library, or none to be found
        tune = ctypes.CDLL(None).mallopt
        tune(M_MMAP_MAX, 0)
        tune(M_TRIM_THRESHOLD, 2**31 - 1)


def give_back_freed_memory() -> None:
    """Let it return what is free now: compiling leaves more of it than a network weighs."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
