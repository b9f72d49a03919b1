"""Which code made a run: the commit of the checkout, and a digest of the source files.

The files of `.git` are read, and git is not run: it would obey GIT_DIR, hooks and settings that
belong to whoever wrote the folder.
"""

import functools
import hashlib
import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST = 1 << 22  # bytes of a file of git's


@functools.cache
def code_revision() -> str:
    """The commit of the checkout this package runs from, if it is one, and a digest of its sources.

    The digest tells a changed checkout from the commit it started from. Both are read once: what a
    process runs is what it has imported, whatever becomes of the files.

    Example:
      >>> code_revision()[-21:-12]
      ' sources '
    """
    return revision_of(PACKAGE)


def revision_of(package: Path) -> str:
    """The same of the package in this folder, as its files are now."""
    commit = commit_of(package.parents[1]) if package.parent.name == "src" else None
    return f"{commit[:12] if commit else 'installed'}, sources {_digest(package)[:12]}"


def commit_of(root: Path) -> str | None:
    """The commit that is checked out in `root`; None if that cannot be read."""
    try:
        git = _git_folder(root / ".git")
        head = _read(git / "HEAD")
        name = head.removeprefix("ref: ")
        if name == head:
            return _commit(head)
        if not name.startswith("refs/") or ".." in name:
            return None
        # The folders of further working trees have their own HEAD and share the branches.
        shared = git / "commondir"
        common = (git / _read(shared)).resolve() if shared.exists() else git
        return _loose(git, name) or _loose(common, name) or _packed(common, name)
    except (OSError, ValueError):
        return None


def _git_folder(place: Path) -> Path:
    if place.is_dir():
        return place
    return (place.parent / _read(place).removeprefix("gitdir: ")).resolve()


def _read(path: Path) -> str:
    """The text of a small regular file."""
    if not path.is_file():
        raise FileNotFoundError(path)
    with path.open("rb") as file:
        return file.read(_MOST).decode().strip()


def _commit(text: str) -> str | None:
    return text if _COMMIT.fullmatch(text) else None


def _loose(git: Path, name: str) -> str | None:
    return _commit(_read(git / name)) if (git / name).is_file() else None


def _packed(git: Path, name: str) -> str | None:
    for line in _read(git / "packed-refs").splitlines():
        commit, _, known = line.partition(" ")
        if known == name:
            return _commit(commit)
    return None


def _digest(package: Path) -> str:
    """Of the names and bytes of all source files."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
