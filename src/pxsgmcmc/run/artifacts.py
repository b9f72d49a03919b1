"""Results that are kept with a run: beside its draws, or in memory."""

from pathlib import Path

from pxsgmcmc.errors import UserError
from pxsgmcmc.store import StorageFull, layout, open_run
from pxsgmcmc.store.chains import (
    is_several,
    read_chains,
    read_chains_artifact,
    write_chains_artifact,
)

RESULTS, DIAGNOSTICS, REPORT = "results.json", "eval/diagnostics.json", "report.html"
VALIDATION = "eval/validation.json"


class Artifacts:
    """Results of one run; a folder above several chains has its own.

    Args:
      path: of the run directory, or of the folder of several chains; None for a run in memory.
    """

    def __init__(self, path: Path | None):
        self._path = path
        self._several = path is not None and is_several(path)
        self._kept: dict[str, bytes] = {}

    def check_writable(self) -> None:
        """Raise `UserError` if another process writes to the run: before long work, not after."""
        if self._path is None:
            return
        if self._several:
            read_chains(self._path)
        else:
            open_run(self._path, writable=True).close()

    def write(self, name: str, data: bytes) -> None:
        """Keep "results.json", "report.html" or "eval/NAME"."""
        layout.check_artifact(name)
        self._kept[name] = data
        if self._path is None:
            return
        try:
            if self._several:
                write_chains_artifact(self._path, name, data)
            else:
                with open_run(self._path, writable=True) as run:
                    run.write_artifact(name, data)
        except StorageFull as error:
            raise StorageFull(
                f"`{self._path / name}` could not be written, the storage is full; what was there "
                "is unchanged: make room, then give the same command again."
            ) from error

    def read(self, name: str) -> bytes | None:
        """A result, checked against its hash; None if there is none."""
        layout.check_artifact(name)
        if name in self._kept:
            return self._kept[name]
        if self._path is None:
            return None
        try:
            if self._several:
                return read_chains_artifact(self._path, name)
            return open_run(self._path).read_artifact(name)
        except UserError:
            return None
