"""The folder where downloaded data sets live, and whether a file in it is the published one."""

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pxsgmcmc.data._faults import damaged, parsing


@dataclass(frozen=True)
class Remote:
    """A published file.

    Attributes:
      name: of the file.
      address: where it is published.
      size: in bytes, where known.
      hashes: algorithm -> hex digest, each seen in several independent sources; "git" is the blob
        id that a repository's tree gives: sha1 of "blob", a space, the size, a zero and the bytes.
      advisory: as `hashes`, seen in one source only: a difference is reported, not refused.
    """

    name: str
    address: str
    size: int | None = None
    hashes: Mapping[str, str] = field(default_factory=dict)
    advisory: Mapping[str, str] = field(default_factory=dict)


def cache_folder(root: str | Path | None = None) -> Path:
    """`root` if given, else $PXSGMCMC_DATA, else the platform's folder for caches.

    Example:
      >>> cache_folder("data").name
      'data'
    """
    if root is not None:
        return Path(root).expanduser()
    if os.environ.get("PXSGMCMC_DATA"):
        return Path(os.environ["PXSGMCMC_DATA"]).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local"))
    elif sys.platform == "darwin":
        base = Path("~/Library/Caches")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return base.expanduser() / "pxsgmcmc"


def digest(path: Path, algorithm: str) -> str:
    """Hex digest of a file by "md5", "sha256" or "git"."""
    # These hashes say whether a file is the published one; none guards a secret.
    name = "sha1" if algorithm == "git" else algorithm
    state = hashlib.new(name, usedforsecurity=False)
    with parsing(path, "file"), path.open("rb") as file:
        if algorithm == "git":
            state.update(b"blob %d\0" % path.stat().st_size)
        while block := file.read(1 << 20):
            state.update(block)
    return state.hexdigest()


def verify(path: Path, remote: Remote, known: Mapping[str, str] | None = None) -> list[str]:
    """Refuse a file that is not the published one; return what is odd but no reason to refuse.

    Args:
      path: the file.
      remote: what it should be.
      known: hex digest -> name of published files, to say which one it is instead.
    """
    faults = []
    size = path.stat().st_size
    if remote.size is not None and size != remote.size:
        faults.append(f"has {size:,} bytes where {remote.name} has {remote.size:,}")
    for algorithm, expected in remote.hashes.items() if not faults else ():
        actual = digest(path, algorithm)
        if actual != expected:
            faults.append(f"has {algorithm} {actual} where {remote.name} has {expected}")
    if faults:
        other = (known or {}).get(digest(path, "md5"))
        remedy = f"remove it and download {remote.name} from {remote.address}"
        raise damaged(path, f"is {other} under another name" if other else faults[0], remedy)
    return [
        f"{path.name} has {algorithm} {actual}; one source gives {expected}"
        for algorithm, expected in remote.advisory.items()
        if (actual := digest(path, algorithm)) != expected
    ]
