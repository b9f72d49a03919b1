"""Programs that JAX has compiled are kept between starts."""

import os
import sys
import warnings
import zlib
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
    # JAX writes a program in place; who reads it in that moment compiles it, and need not be told.
    warnings.filterwarnings("ignore", "Error reading persistent compilation cache entry")
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    folder = cache_folder() / "compiled"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_torn(folder)
        make_room(folder, MOST_BYTES)
    except OSError:  # no home, or a full disk: compile each time
        return
    if os.access(folder, os.W_OK):
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)


def remove_torn(folder: Path) -> None:
    """Remove programs that a killed process left half written.

    JAX neither reads them nor writes them again, so they would be compiled at every start. A file
    beside them remembers when this was last done: a program is looked at once.
    """
    checked = folder / "checked"
    since = checked.stat().st_mtime if checked.exists() else 0.0
    checked.touch()  # before looking: what is written from now on is for the next start
    for path in folder.glob("*-cache"):
        with suppress(OSError):  # another process may have removed it
            if path.stat().st_mtime >= since and not _is_whole(path.read_bytes()):
                path.unlink()


def _is_whole(program: bytes) -> bool:
    """False if the stream breaks off; other ways to compress than zlib's are not judged."""
    if program and program[0] != 0x78:
        return True
    stream = zlib.decompressobj()
    with suppress(zlib.error):
        stream.decompress(program)
    return stream.eof


def make_room(folder: Path, most: int) -> None:
    """Remove the oldest files of a folder until it is half full, if it holds more than `most`.

    JAX can do this itself, but only with a package that we do not need otherwise.
    """
    entries = [(entry.stat(), entry.path) for entry in os.scandir(folder)]
    total = sum(facts.st_size for facts, _ in entries)
    if total <= most:
        return
    for facts, path in sorted(entries, key=lambda pair: pair[0].st_mtime):
        if total <= most // 2:
            return
        with suppress(OSError):  # another process may have removed it
            os.unlink(path)
        total -= facts.st_size
