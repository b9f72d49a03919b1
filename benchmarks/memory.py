"""How much memory a process holds at most while it takes steps, compilation not counted."""

import ctypes
import gc
import resource
from contextlib import suppress
from pathlib import Path


def forget_peak() -> float:
    """Give back what is free and let the kernel count the peak from here on, where it can.

    Returns the MB that the process holds now: itself, its program and the weights.
    """
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    return peak_mb()


def peak_mb() -> float:
    """The peak since `forget_peak`; since the start of the process where that is not known."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
