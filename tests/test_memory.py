"""Memory that a run frees and takes again is not asked of the kernel each time."""

import os
import subprocess
import sys

import pytest

FAULTS = """
import ctypes, resource
from pxsgmcmc.memory import keep_freed_memory
keep_freed_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
def use():
    block = ctypes.c_void_p(libc.malloc(1 << 26))
    ctypes.memset(block, 1, 1 << 26)
    libc.free(block)
use()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(3):
    use()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""

HOLES = """
import ctypes, os
from pathlib import Path
from pxsgmcmc.memory import give_back_freed_memory
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
size = 100_000  # below what glibc asks the kernel for by itself
blocks = [ctypes.c_void_p(libc.malloc(size)) for _ in range(1000)]
for block in blocks:
    ctypes.memset(block, 1, size)
for block in blocks[:-1]:  # the last one keeps the others from being the end of the heap
    libc.free(block)
before = held()
give_back_freed_memory()
print(before - held())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a call of glibc")
def test_what_lies_free_between_what_is_in_use_is_given_back():
    done = subprocess.run([sys.executable, "-c", HOLES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 90e6


@pytest.mark.skipif(sys.platform != "linux", reason="a setting of glibc")
def test_pages_are_asked_for_once_unless_the_user_tunes_the_library():
    def faults(**more):
        environment = {k: v for k, v in os.environ.items() if k != "GLIBC_TUNABLES"} | more
        done = subprocess.run(
            [sys.executable, "-c", FAULTS], capture_output=True, text=True, env=environment
        )
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    assert 4 * faults() < faults(GLIBC_TUNABLES="glibc.malloc.perturb=0")
