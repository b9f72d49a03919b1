"""Several chains in one folder are one sealed thing: `chains.json` above their run directories.

    NAME/chains.json          how many chains are expected; hashes of what stands beside it
    NAME/config.toml          what all of them run
    NAME/chain-0000/ ...      a run directory each
    NAME/eval/ results.json report.html      results of all of them together

A chain that is taken away, a result that is changed or a file that is put there shows, as it does
within a run directory. A folder of a chain that has written nothing yet is empty: it has not begun.
"""

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.store import files, layout, lock, manifest, sealed
from pxsgmcmc.store.manifest import Artifact
from pxsgmcmc.store.verify import Findings, verify

CHAINS = "chains.json"
MOST_CHAINS = 10_000  # that the names of folders have digits for


class Chains(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of `chains.json`.

    Attributes:
      format: of the run directories.
      version: of the package that made it.
      chains: how many are expected.
      config_sha256: of `config.toml` beside it; None where there is none.
      artifacts: name -> size and hash of the results of all chains together.
    """

    format: int
    version: str
    chains: Annotated[int, msgspec.Meta(ge=1, le=MOST_CHAINS)]
    config_sha256: str | None = None
    artifacts: dict[str, Artifact] = {}


def is_several(folder: str | Path) -> bool:
    """Whether a folder holds several chains, rather than one run or none."""
    folder = Path(folder)
    return os.path.lexists(folder / CHAINS) or bool(layout.chain_folders(folder))


def create_chains(folder: str | Path, chains: int, config: str | None = None) -> None:
    r"""Make a folder for several chains, with an empty folder for each.

    What is there from an earlier, interrupted call is completed; chains that have begun stay.

    Args:
      folder: to make.
      chains: how many there will be.
      config: the text of the configuration that all of them run, if there is one.

    Raises:
      UserError: if the folder holds other chains, or something else.

    Example:
      >>> import tempfile
      >>> create_chains(folder := tempfile.mkdtemp(), 2, "seed = 1\n")
      >>> read_chains(folder).chains, verify_chains(folder).problems
      (2, [])
    """
    folder = Path(folder)
    digest = None if config is None else sealed.digest(config.encode())
    wanted = Chains(manifest.FORMAT, manifest.version(), chains, digest)
    with files.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(folder / CHAINS):
        there = read_chains(folder)
        if (there.chains, there.config_sha256) != (chains, digest):
            raise UserError(
                f"`{folder}` holds {there.chains} chains with settings of their own: choose "
                "another directory."
            )
        return
    _refuse_used(folder, chains, config)
    for chain in range(chains):
        with files.writing(folder):
            layout.chain_folder(folder, chain).mkdir(exist_ok=True)
    if config is not None:
        files.write_file(folder / layout.CONFIG, config.encode())
    manifest.write(folder, wanted, CHAINS)  # last: from here on the folder is theirs


def check_count_of_chains(folder: str | Path, chains: int) -> None:
    """Refuse another number of `chains` than the run in `folder` has, if there is one."""
    folder = Path(folder)
    single = os.path.lexists(folder / layout.MANIFEST)
    there = 1 if single else read_chains(folder).chains if is_several(folder) else chains
    if there != chains:
        raise UserError(f"`chains` must be {there}, as the run in `{folder}` began, got {chains}.")


def remove_not_begun(folder: str | Path) -> None:
    """Take away what `create_chains` made, if no chain has begun; else leave all of it."""
    folder = Path(folder)
    places = _expected(folder, read_chains(folder))
    ours = {CHAINS, layout.CONFIG, *(place.name for place in places)}
    if not all(map(not_begun, places)) or set(os.listdir(folder)) - ours:
        return
    (folder / CHAINS).unlink()  # first: what is left is then no run
    (folder / layout.CONFIG).unlink(missing_ok=True)
    for place in [*places, folder]:
        with contextlib.suppress(OSError):  # somebody has put something there
            place.rmdir()


def _refuse_used(folder: Path, chains: int, config: str | None) -> None:
    """Let pass an empty folder, or one where the making was cut short."""
    ours = {layout.chain_folder(folder, chain).name for chain in range(chains)}
    with files.reading(folder):
        names = set(os.listdir(folder))
    leftovers = {CHAINS + files.PART, layout.CONFIG + files.PART}
    filled = {
        name
        for name in names & ours
        if not (folder / name).is_dir() or any((folder / name).iterdir())
    }
    strangers = (names - ours - leftovers) | filled
    if config is not None and layout.CONFIG in strangers:
        if files.read_file(folder / layout.CONFIG, at_most=manifest.MOST) == config.encode():
            strangers -= {layout.CONFIG}
    if strangers:
        raise UserError(
            f"`{folder}` must be empty to hold chains, it has {min(strangers)!r}: choose another "
            "directory."
        )


def read_chains(folder: str | Path) -> Chains:
    """The manifest above several chains.

    Raises:
      UserError: if the folder holds none, or of a format this version does not know.
      CorruptRun: if it is not as it was written.
    """
    folder = Path(folder)
    try:
        return manifest.read_document(folder / CHAINS, Chains)
    except files.Missing:
        if layout.chain_folders(folder):
            raise
        raise UserError(f"`{folder}` must be a folder of chains, but has no {CHAINS}.") from None


def read_chains_config(folder: str | Path) -> str:
    """The text of the configuration that all chains run, checked against its hash."""
    folder = Path(folder)
    facts = read_chains(folder)
    if facts.config_sha256 is None:
        raise UserError(
            f"`{folder}` has no {layout.CONFIG}: its chains were started from Python; go on "
            f"with `sample(..., out={str(folder)!r}, resume=True)` and the same arguments."
        )
    return manifest.read_config(folder, facts.config_sha256)


def open_folders(folder: str | Path) -> list[Path]:
    """The run directories of the chains that have begun, all expected ones being there.

    Raises:
      CorruptRun: if a chain is missing, or one is there that does not belong to them.
    """
    folder = Path(folder)
    expected = _expected(folder, read_chains(folder))
    for place in expected:
        if not place.is_dir() or place.is_symlink():
            raise CorruptRun(
                f"`{place}` is missing: `{folder}` was made for {len(expected)} chains."
            )
    surplus = sorted(set(layout.chain_folders(folder)) - set(expected))
    if surplus:
        raise CorruptRun(f"`{surplus[0]}` is not one of the {len(expected)} chains of `{folder}`.")
    return [place for place in expected if not not_begun(place)]


def not_begun(place: Path) -> bool:
    """Whether the folder of a chain is as `create_chains` made it."""
    return place.is_dir() and not any(place.iterdir())


def verify_chains(path: str | Path) -> Findings:
    """Check every byte of all chains and of what stands above them; see `verify`.

    Raises:
      UserError: if `path` is not a folder of chains.
    """
    folder = Path(path)
    problems: list[str] = []
    try:
        facts = read_chains(folder)
    except CorruptRun as error:
        return Findings([str(error)], [], 0, 0)
    parts = []
    try:
        begun = open_folders(folder)
    except CorruptRun as error:
        problems.append(str(error))
        begun = [place for place in _expected(folder, facts) if place.is_dir()]
        begun = [place for place in begun if not not_begun(place)]
    for place in begun:
        try:
            parts.append(verify(place))
            problems += [] if parts[-1].problems else _check_belongs(place, facts)
        except UserError as error:  # a folder that is no run at all
            problems.append(str(error))
    above, leftovers, sizes = _verify_above(folder, facts)
    problems += above + [problem for part in parts for problem in part.problems]
    return Findings(
        list(dict.fromkeys(problems)),
        leftovers + [name for part in parts for name in part.leftovers],
        len(sizes) + sum(part.files for part in parts),
        sum(sizes) + sum(part.bytes for part in parts),
    )


def _check_belongs(place: Path, facts: Chains) -> list[str]:
    """A sentence if a run directory is whole, but not that of this chain."""
    there = manifest.read(place)
    number = there.origin.get("chain")
    if number is not None and layout.chain_folder(place.parent, number) != place:
        return [f"`{place}` holds chain {number}, which belongs elsewhere."]
    if facts.config_sha256 not in (None, there.config_sha256):
        return [f"`{place}` was run with another configuration than the one above it."]
    return []


def _verify_above(folder: Path, facts: Chains) -> tuple[list[str], list[str], list[int]]:
    """Problems, leftovers and file sizes of what stands beside the folders of the chains."""
    problems, leftovers, sizes = [], [], []
    for name in [layout.CONFIG, *facts.artifacts]:
        try:
            if name != layout.CONFIG:
                read_chains_artifact(folder, name)
            elif facts.config_sha256 is not None:
                manifest.read_config(folder, facts.config_sha256)
        except CorruptRun as error:
            problems.append(str(error))
    chains = {place.name for place in _expected(folder, facts)}
    ours = {CHAINS, lock.LOCK, *facts.artifacts}
    ours |= set() if facts.config_sha256 is None else {layout.CONFIG}
    for name, entry in layout.walk(folder):
        if stat.S_ISDIR(entry.st_mode):
            known = name in chains or name == layout.EVAL or name.startswith(f"{layout.EVAL}/")
        elif stat.S_ISREG(entry.st_mode):
            sizes.append(entry.st_size)
            whole = name.removesuffix(files.PART)
            left = whole != name and (whole in ours or layout.is_artifact(whole))
            leftovers += [name] if left else []
            known = name in ours or left
        else:
            problems.append(f"`{folder}` has {name!r}, which is a link, a pipe or a device.")
            continue
        if not known:
            problems.append(f"`{folder}` has {name!r}, which is not part of the run.")
    return problems, leftovers, sizes


def _expected(folder: Path, facts: Chains) -> list[Path]:
    return [layout.chain_folder(folder, chain) for chain in range(facts.chains)]


def write_chains_artifact(folder: str | Path, name: str, data: bytes) -> None:
    """Keep a result of all chains together, with its hash in the manifest above them."""
    folder = Path(folder)
    with _alone(folder):
        manifest.stage_artifact(folder, read_chains(folder), name, data, CHAINS)
        files.put_in_place(folder / name)


def read_chains_artifact(folder: str | Path, name: str) -> bytes:
    """A result of all chains together, checked against its hash."""
    return manifest.read_artifact(Path(folder), read_chains(folder), name)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time reads the manifest above the chains, changes it and writes it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # some network file systems lock no folders
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
