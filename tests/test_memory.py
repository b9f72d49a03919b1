"""Large pages are asked for once, and what lies free is given back."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pxsgmcmc import cli
from pxsgmcmc.memory import TUNABLES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="settings of glibc")

FAULTS = """
import ctypes, os, resource, sys
from pxsgmcmc.memory import start_with_large_pages
start_with_large_pages()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
ctypes.memset(ctypes.c_void_p(libc.malloc(1 << 26)), 1, 1 << 26)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, *sys.argv[1:])
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


def python(code, *arguments, **more):
    environment = {k: v for k, v in os.environ.items() if k != TUNABLES} | more
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def large_pages():
    """Whether the kernel gives them to who asks, and the C library can ask."""
    kernel = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    version = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else ""
    numbers = [int(part) for part in (version or "").removeprefix("glibc ").split(".") if part]
    return kernel.exists() and "[never]" not in kernel.read_text() and numbers >= [2, 35]


@pytest.mark.skipif(not large_pages(), reason="this system has none")
def test_large_pages_are_touched_less_often_and_arguments_survive_the_restart():
    faults, *arguments = python(FAULTS, "run", "a b.toml")
    assert int(faults) < 1000 and arguments == ["run", "a", "b.toml"]
    faults, *_ = python(FAULTS, **{TUNABLES: ""})  # the user's word, even an empty one
    assert int(faults) > 10_000


def test_a_process_that_cannot_start_again_goes_on():
    code = "import sys; sys.executable = '/nowhere'\n" + FAULTS
    assert python(code, "run")[1:] == ["run"]


@pytest.mark.parametrize(
    "words, restarts",
    [("run a.toml", True), ("resume runs/a", True), ("run --help", False), ("list", False)],
)
def test_only_commands_that_compute_start_again(words, restarts, monkeypatch):
    asked = []
    monkeypatch.setattr(sys, "argv", ["pxsgmcmc", *words.split()])
    monkeypatch.setattr(cli, "start_with_large_pages", lambda: asked.append(True))
    monkeypatch.setattr(cli, "main", lambda: 0)
    with pytest.raises(SystemExit):
        cli.entry()
    assert bool(asked) == restarts


def test_what_lies_free_between_what_is_in_use_is_given_back():
    assert int(python(HOLES)[0]) > 90e6
