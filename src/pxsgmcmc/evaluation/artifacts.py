"""Results beside the draws: in the run directory, or in the folder above several chains.

A single run keeps their hashes in its manifest. The folder of several chains has no manifest; there
a result is replaced as a whole or not at all.
"""

from pathlib import Path

from pxsgmcmc.errors import UserError
from pxsgmcmc.store import files, layout, open_run

_MOST = 1 << 28  # bytes of a result


def chains_in(folder: Path) -> list[Path]:
    """The run directories of several chains in `folder` that have begun; none for a single run."""
    return [path for path in layout.chain_folders(folder) if (path / layout.MANIFEST).exists()]


def check_writable(directory: str | Path) -> None:
    """Raise `UserError` if another process writes to the run, before long work and not after."""
    folder = Path(directory)
    if not chains_in(folder):
        open_run(folder, writable=True).close()


def write_artifact(directory: str | Path, name: str, data: bytes) -> None:
    """Keep "results.json", "report.html" or "eval/NAME"."""
    folder = Path(directory)
    if not chains_in(folder):
        with open_run(folder, writable=True) as run:
            run.write_artifact(name, data)
        return
    path = folder / layout.check_artifact(name)
    with files.writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    files.write_file(path, data)


def read_artifact(directory: str | Path, name: str) -> bytes:
    """A result, checked against its hash where there is one."""
    folder = Path(directory)
    if not chains_in(folder):
        return open_run(folder).read_artifact(name)
    try:
        return files.read_file(folder / layout.check_artifact(name), at_most=_MOST)
    except files.Missing:
        raise UserError(f"`{folder}` has no result {name!r}.") from None
