"""Fetch a run from a place that fsspec reaches."""

import os
from pathlib import Path

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.moving import inventory
from pxsgmcmc.moving.listing import LISTING, Listing, Moved, read_listing, run_places
from pxsgmcmc.moving.place import Place
from pxsgmcmc.progress import Progress, Show, progress_for
from pxsgmcmc.store import chains, files, layout, lock
from pxsgmcmc.store.manifest import Artifact
from pxsgmcmc.store.targets import check_outside

_FOLDERS = (layout.DRAWS, layout.STATE)  # of a run that has no draw and no state yet


def pull(url: str, folder: str | Path, *, progress: Show | Progress = False) -> Moved:
    """Fetch a run that was sent with `push`; it gets its name when all of it is there.

    Until then it is called `FOLDER.part`, and calling this again goes on there.

    Args:
      url: where it was sent.
      folder: to make.
      progress: whether to show it.

    Raises:
      UserError: if there is no whole run, or if `folder` is used.
      Locked: if another process fetches into the same folder.
      CorruptRun: if what is fetched is not what was sent.
    """
    folder, place = Path(folder), Place(url)
    check_outside(folder, "run")
    listing = read_listing(place)
    if listing is None:
        raise UserError(f"`{place.url}` must hold a run sent by `push`, but has no {LISTING}.")
    if not listing.whole:
        raise UserError(f"`{place.url}` holds a part of a run: its push was cut short; push again.")
    if os.path.lexists(folder) and (not folder.is_dir() or any(folder.iterdir())):
        return _already(place, folder, listing)
    part = files.beside(folder)
    files.make_folders(part)
    _refuse_strangers(part, listing)
    with lock.acquire(part):
        moved = _fetch(place, part, listing, progress_for("pull", progress))
        _make_empty_folders(part, listing)
        inventory.check(part)
    with files.writing(folder):
        os.replace(part, folder)
        files.sync_folder(folder.absolute().parent)
    return moved


def _already(place: Place, folder: Path, listing: Listing) -> Moved:
    """Nothing to do if the folder holds all of it; anything else in it is not ours to replace."""
    for name, entry in listing.files.items():
        if not inventory.is_there(folder / name, entry):
            raise UserError(
                f"`{folder}` is there and differs from `{place.url}` in {name!r}: choose another "
                "directory."
            )
    return Moved(len(listing.files), listing.bytes, 0, 0)


def _refuse_strangers(part: Path, listing: Listing) -> None:
    """Let pass what an earlier, unfinished pull of the same run left."""
    ours = {*listing.files, lock.LOCK}
    ours |= {name + files.PART for name in ours}
    there = [path for path in part.rglob("*") if path.is_symlink() or not path.is_dir()]
    strangers = sorted({str(path.relative_to(part)) for path in there} - ours)
    if strangers:
        raise UserError(
            f"`{part}` must be empty or hold an earlier pull of this run, it has "
            f"{strangers[0]!r}: move it away."
        )


def _fetch(place: Place, part: Path, listing: Listing, shown: Progress) -> Moved:
    """Fetch what is not there with the right hash."""
    sent = sent_bytes = done = 0
    try:
        for name, entry in listing.in_order():
            path = part / name
            if not inventory.is_there(path, entry):
                data = _checked(place, name, entry)
                files.make_folders(path.parent)
                files.write_file(path, data)
                sent, sent_bytes = sent + 1, sent_bytes + entry.bytes
            files.beside(path).unlink(missing_ok=True)  # of a pull that was killed
            done += entry.bytes
            shown.tell(done / max(1, listing.bytes), name)
    finally:
        shown.close()
    return Moved(len(listing.files), listing.bytes, sent, sent_bytes)


def _checked(place: Place, name: str, entry: Artifact) -> bytes:
    data = place.read(name, entry.bytes)
    if data is None or not inventory.fits(data, entry):
        raise CorruptRun(
            f"`{place.url}/{name}` is missing or not as it was sent: push the run again, which "
            "sends what differs."
        )
    return data


def _make_empty_folders(part: Path, listing: Listing) -> None:
    """Folders that a run has from the start, which a store without folders cannot say."""
    places = [run / name for run in run_places(part, listing) for name in _FOLDERS]
    if chains.CHAINS in listing.files:
        count = chains.read_chains(part).chains
        places += [layout.chain_folder(part, chain) for chain in range(count)]
    for place in places:
        files.make_folders(place)
