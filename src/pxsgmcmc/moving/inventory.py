"""The files of a run directory with their hashes, taken while nobody else writes to it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from pxsgmcmc.errors import CorruptRun
from pxsgmcmc.moving.listing import Listing, new_listing
from pxsgmcmc.store import chains, contents, files, layout, open_run, sealed
from pxsgmcmc.store.manifest import Artifact
from pxsgmcmc.store.verify import Findings, verify

_LARGEST = 1 << 40  # bytes of a log, an index or a state


@contextmanager
def held_still(folder: Path) -> Iterator[None]:
    """Be the writer of every chain, with what an interrupted writer left finished or undone.

    Raises:
      Locked: if another process writes there.
    """
    several = chains.is_several(folder)
    with ExitStack() as stack:
        for place in chains.open_folders(folder) if several else [folder]:
            stack.enter_context(open_run(place, writable=True))
        yield


def check(folder: Path) -> Findings:
    """Check every byte of one run or of several chains.

    Raises:
      CorruptRun: saying the first thing that is not as it was written.
    """
    several = chains.is_several(folder)
    findings = chains.verify_chains(folder) if several else verify(folder)
    if findings.problems:
        raise CorruptRun(findings.problems[0])
    return findings


def inventory(folder: Path) -> Listing:
    """Every file that belongs to the run, which was checked before."""
    if not chains.is_several(folder):
        identity, entries = _of_one(folder, "")
        return new_listing({"": identity}, entries)
    facts = chains.read_chains(folder)
    fixed = [facts.format, facts.version, facts.chains, facts.config_sha256]
    runs = {"": sealed.digest(sealed.to_json(fixed))}
    entries = dict(facts.artifacts)
    for name in (chains.CHAINS, *([layout.CONFIG] if facts.config_sha256 is not None else [])):
        entries[name] = _hashed(folder / name)
    for place in chains.open_folders(folder):
        runs[place.name], more = _of_one(place, f"{place.name}/")
        entries |= more
    return new_listing(runs, entries)


def _of_one(folder: Path, prefix: str) -> tuple[str, dict[str, Artifact]]:
    committed = contents.read_contents(folder)
    entries = dict(committed.manifest.artifacts)
    for draw in committed.draws:
        entries[f"{layout.DRAWS}/{draw.name}"] = Artifact(draw.bytes, draw.sha256)
    states = [f"{layout.STATE}/{name}" for name in (layout.LAST, layout.PREV)]
    states = [name for name in states if (folder / name).is_file()]
    for name in (*states, layout.CONFIG, layout.LOG, layout.INDEX, layout.MANIFEST):
        entries[name] = _hashed(folder / name)
    return committed.manifest.identity, {prefix + name: entry for name, entry in entries.items()}


def _hashed(path: Path) -> Artifact:
    data = files.read_file(path, at_most=_LARGEST)
    return Artifact(len(data), sealed.digest(data))


def is_there(path: Path, entry: Artifact) -> bool:
    """Whether the file with this size and hash is at `path`."""
    try:
        data = files.read_file(path, at_most=entry.bytes)
    except CorruptRun:
        return False
    return fits(data, entry)


def fits(data: bytes | None, entry: Artifact) -> bool:
    """Whether these are the bytes that an entry of a list speaks of."""
    return data is not None and len(data) == entry.bytes and sealed.digest(data) == entry.sha256


def begins_with(path: Path, entry: Artifact) -> bool:
    """Whether the file at `path` begins with the bytes that `entry` speaks of."""
    data = files.read_file(path, at_most=_LARGEST)
    return fits(data[: entry.bytes], entry)


def unfinished(listing: Listing) -> Listing:
    """The same list, said to be not whole yet."""
    return msgspec.structs.replace(listing, whole=False)
