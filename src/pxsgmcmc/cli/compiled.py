"""Programs that JAX has compiled are kept between starts."""

import os
import sys
from contextlib import suppress
from pathlib import Path

from pxsgmcmc.data.cache import cache_folder

MOST_BYTES = 1 << 30  # of compiled programs


def remember_compilations() -> None:
    """Let JAX keep compiled programs, so that a second start does not compile again.

    JAX reads this when it is imported; a folder or a switch that the user has set stays.
    """
    if "jax" in sys.modules:
        return
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    folder = cache_folder() / "compiled"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        make_room(folder, MOST_BYTES)
    except OSError:  # no home, or a full disk: compile each time
        return
    if os.access(folder, os.W_OK):
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)


def make_room(folder: Path, most: int) -> None:
    """Remove the oldest files of a folder until it is half full, if it holds more than `most`.

    JAX can do this itself, but only with a package that we do not need otherwise.
    """
    found = [(entry.stat(), entry.path) for entry in os.scandir(folder)]
    total = sum(facts.st_size for facts, _ in found)
    if total <= most:
        return
    for facts, path in sorted(found, key=lambda pair: pair[0].st_mtime):
        if total <= most // 2:
            return
        with suppress(OSError):  # another process may have removed it
            os.unlink(path)
        total -= facts.st_size
