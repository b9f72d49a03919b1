"""Most tests of the store are not about the disk: they run in memory where the system can."""

import os
import tempfile
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")


@pytest.fixture
def tmp_path():
    in_memory = MEMORY.is_dir() and os.access(MEMORY, os.W_OK)
    with tempfile.TemporaryDirectory(dir=MEMORY if in_memory else None) as folder:
        yield Path(folder)


@pytest.fixture
def disk_path():
    """A folder on a disk, where flushing takes its time."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)
