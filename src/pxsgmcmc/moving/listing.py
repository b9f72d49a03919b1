"""What a moved run consists of: `moving.json`, a sealed list of its files."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from pxsgmcmc.errors import CorruptRun, UserError, one_line
from pxsgmcmc.moving.place import Place
from pxsgmcmc.store import layout, manifest, sealed
from pxsgmcmc.store.chains import CHAINS
from pxsgmcmc.store.manifest import Artifact

LISTING = "moving.json"
FORMAT = 1
_MOST = 1 << 28  # bytes of a list, which has a line or so for each draw
_OF_A_CHAIN = re.compile(r"chain-[0-9]{4}/", re.ASCII)
_STATES = (f"{layout.STATE}/{layout.PREV}", f"{layout.STATE}/{layout.LAST}")
# After the draws and the results, in this order: what makes a run comes last.
_LAST = (*_STATES, layout.CONFIG, layout.LOG, layout.INDEX, layout.MANIFEST, CHAINS)


class Listing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of `moving.json`.

    Attributes:
      format: of this list.
      version: of the package that sent the run.
      whole: whether all of the files arrived.
      runs: folder -> what never changes of the run in it; "" is the folder itself.
      files: relative name -> size and hash.
    """

    format: int
    version: str
    whole: bool
    runs: dict[str, str]
    files: dict[str, Artifact]

    def in_order(self) -> Iterator[tuple[str, Artifact]]:
        """The files in the order in which they are moved."""
        return iter(sorted(self.files.items(), key=lambda item: _place_in_order(item[0])))

    @property
    def bytes(self) -> int:
        """Of all files."""
        return sum(entry.bytes for entry in self.files.values())


class Moved(NamedTuple):
    """What `push` and `pull` did.

    Attributes:
      files: that the run has.
      bytes: that they hold.
      sent: how many files were not there yet, or not right.
      sent_bytes: that these hold.
    """

    files: int
    bytes: int
    sent: int
    sent_bytes: int


def _without_chain(name: str) -> str:
    chain = _OF_A_CHAIN.match(name)
    return name[chain.end() :] if chain else name


def _place_in_order(name: str) -> tuple[int, str]:
    own = _without_chain(name)
    return (_LAST.index(own) + 1 if own in _LAST else 0), name


def _is_known(name: str) -> bool:
    """Whether a run directory, or a folder of chains, may have a file of this relative name."""
    own = _without_chain(name)
    folder, _, file = own.rpartition("/")
    is_draw = folder == layout.DRAWS and layout.draw_number(file) is not None
    return (own in _LAST and (own != CHAINS or own == name)) or is_draw or layout.is_artifact(own)


def write_listing(place: Place, listing: Listing) -> None:
    """Replace the list at `place`."""
    place.write(LISTING, sealed.seal_document(msgspec.to_builtins(listing)))


def read_listing(place: Place) -> Listing | None:
    """The list at `place`, None if there is none; names that no run has are refused.

    Raises:
      CorruptRun: if it is not as it was written.
    """
    data = place.read(LISTING, _MOST)
    if data is None:
        return None
    try:
        body = sealed.unseal_document(data)
        if body.get("format") != FORMAT:
            raise UserError(
                f"`{place.url}` was sent by version {one_line(body.get('version'))} in format "
                f"{one_line(body.get('format'))}; this reads format {FORMAT}: use that version."
            )
        listing = msgspec.convert(body, Listing)
        strange = [name for name in listing.files if not _is_known(name)]
        strange += [run for run in listing.runs if run and not _OF_A_CHAIN.fullmatch(f"{run}/")]
        if strange:
            raise ValueError(f"it names {one_line(strange[0])}")
    except (ValueError, msgspec.ValidationError) as error:
        raise CorruptRun(f"`{place.url}/{LISTING}` is damaged: {error}.") from error
    return listing


def run_places(folder: Path, listing: Listing) -> list[Path]:
    """The run directories, one for each chain that has begun."""
    return [folder / name for name in listing.runs if name or CHAINS not in listing.files]


def new_listing(runs: dict[str, str], files: dict[str, Artifact]) -> Listing:
    """The list of a run whose files will all arrive."""
    return Listing(FORMAT, manifest.version(), True, runs, files)
