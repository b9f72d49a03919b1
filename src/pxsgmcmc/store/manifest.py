"""What a run is, how it stands, and the hashes of what is written once: `manifest.json`."""

import functools
import importlib.metadata
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from pxsgmcmc.errors import CorruptRun, UserError, one_line
from pxsgmcmc.store import files, known_facts, layout, sealed

FORMAT = 2  # of the run directory; a change that older versions cannot read adds one
MOST = 1 << 24  # bytes of a manifest or a config

_T = TypeVar("_T", bound=msgspec.Struct)
Status = Literal["running", "interrupted", "done", "diverged"]


class Artifact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A result kept beside the draws."""

    bytes: sealed.Count
    sha256: str


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of `manifest.json`.

    Attributes:
      format: of the run directory.
      version: of the package that made the run.
      config_sha256: of `config.toml`.
      origin: what was known at the start (seed, executor, versions, data hashes); never changed.
      status: how the run stands.
      progress: what was learnt on the way, such as the number of retries.
      resumable: whether a state was ever saved.
      artifacts: name -> size and hash.
    """

    format: int
    version: str
    config_sha256: str
    origin: dict[str, Any]
    status: Status = "running"
    progress: dict[str, Any] = {}
    resumable: bool = False
    artifacts: dict[str, Artifact] = {}

    @property
    def identity(self) -> str:
        """A digest of what never changes: the first seal of every journal and state of this run."""
        fixed = [self.format, self.version, self.config_sha256, self.origin]
        return sealed.digest(sealed.to_json(fixed))


@functools.cache
def version() -> str:
    """Of this package."""
    return importlib.metadata.version("pxsgmcmc")


def write(folder: Path, manifest: msgspec.Struct, name: str = layout.MANIFEST) -> None:
    """Replace the manifest of `folder` as a whole."""
    body = msgspec.structs.asdict(manifest)
    files.write_file(folder / name, sealed.seal_document(body))


def read(folder: Path) -> Manifest:
    """The manifest of `folder`.

    Raises:
      UserError: if `folder` is not a run directory, or one of a format this version does not know.
      CorruptRun: if the manifest is not as it was written, or says what no run can say.
    """
    path = folder / layout.MANIFEST
    if not folder.is_dir():
        raise UserError(f"`{folder}` must be a run directory, but there is no such folder.")
    try:
        manifest = read_document(path, Manifest)
    except files.Missing as error:
        if _holds_anything(folder):
            raise
        raise UserError(f"`{folder}` must be a run directory, but it has no manifest.") from error
    for part, kind in (("origin", known_facts.Origin), ("progress", known_facts.RunProgress)):
        try:
            known_facts.check_facts(getattr(manifest, part), kind)
        except msgspec.ValidationError as error:
            raise CorruptRun(f"`{path}` is damaged in its {part}: {error}.") from error
    return manifest


def read_document(path: Path, kind: type[_T]) -> _T:
    """A sealed document with a format and artifacts, such as a manifest."""
    data = files.read_file(path, at_most=MOST)
    try:
        body = sealed.unseal_document(data)
        if body.get("format") != FORMAT:
            raise UserError(
                f"`{path.parent}` is in format {one_line(body.get('format'))}, made by version "
                f"{one_line(body.get('version'))}; this reads format {FORMAT}: use the one that "
                "made it."
            )
        document: Any = msgspec.convert(body, kind)
        for name in document.artifacts:
            if not layout.is_artifact(name):
                raise ValueError(f"it names the file {one_line(name)}")
    except (ValueError, msgspec.ValidationError) as error:
        raise CorruptRun(f"`{path}` is damaged: {error}.") from error
    return document


def _holds_anything(folder: Path) -> bool:
    """Whether a run was written to; the making of one may be cut short before its manifest."""
    folders = [folder / layout.DRAWS, folder / layout.STATE]
    journals = [folder / layout.INDEX, folder / layout.LOG]
    return any(path.is_dir() and any(path.iterdir()) for path in folders) or any(
        path.is_file() and path.stat().st_size > 0 for path in journals
    )


def read_config(folder: Path, sha256: str) -> str:
    """The text of `config.toml`, checked against its hash."""
    path = folder / layout.CONFIG
    data = files.read_file(path, at_most=MOST)
    if sealed.digest(data) != sha256:
        raise CorruptRun(f"`{path}` is not as it was written: its SHA-256 differs.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CorruptRun(f"`{path}` is not UTF-8 text.") from error


def stage_artifact(
    folder: Path, manifest: _T, name: str, data: bytes, document: str = layout.MANIFEST
) -> _T:
    """Write a result beside its place, and its hash into the manifest; it has its name to get yet.

    Whichever step is the last before a crash, the file with the hash that the manifest states is
    there, under its name or beside it.
    """
    path = folder / layout.check_artifact(name)
    files.make_folders(path.parent)
    files.write_beside(path, data)
    there: Any = manifest
    entry = Artifact(len(data), sealed.digest(data))
    changed = msgspec.structs.replace(there, artifacts={**there.artifacts, name: entry})
    try:
        write(folder, changed, document)
    except UserError:
        # Where only the last flush failed, the manifest speaks of the new file already.
        if read_document(folder / document, type(manifest)) != changed:
            files.beside(path).unlink(missing_ok=True)
        raise
    return changed


def read_artifact(folder: Path, manifest: Any, name: str) -> bytes:
    """A result, checked against its hash; `manifest` is any with artifacts."""
    if name not in manifest.artifacts:
        known = ", ".join(sorted(manifest.artifacts)) or "none"
        raise UserError(f"`{folder}` has no result {name!r}; it has: {known}.")
    entry = manifest.artifacts[name]
    return files.read_hashed(folder / name, entry.bytes, entry.sha256)
