"""Send a run to a place that fsspec reaches."""

from pathlib import Path

from pxsgmcmc.errors import UserError
from pxsgmcmc.moving import inventory
from pxsgmcmc.moving.listing import LISTING, Listing, Moved, read_listing, write_listing
from pxsgmcmc.moving.place import Place
from pxsgmcmc.progress import Progress, Show, progress_for
from pxsgmcmc.store import files, layout
from pxsgmcmc.store.chains import CHAINS


def push(folder: str | Path, url: str, *, progress: Show | Progress = False) -> Moved:
    """Send a run, or what is new of it, and read every byte back.

    Args:
      folder: of the run, or of several chains.
      url: of a folder that is empty, not there, or holds an earlier state of the same run.
      progress: whether to show it.

    Raises:
      UserError: if the place cannot be written, or holds something else.
      Locked: if another process writes to the run.
      CorruptRun: if the run is damaged, or what was sent does not come back as it was.
    """
    folder, place = Path(folder), Place(url)
    if place.folder is not None and place.folder.resolve().is_relative_to(folder.resolve()):
        raise UserError(
            f"`{place.url}` is inside the run that is to be sent: choose another place."
        )
    place.check()
    with inventory.held_still(folder):
        inventory.check(folder)
        listing = inventory.inventory(folder)
        before = read_listing(place)
        there = place.sizes()
        _refuse_others(folder, place, before, listing, there)
        if before != listing:
            write_listing(place, inventory.unfinished(listing))
        moved = _send(folder, place, listing, there, progress_for("push", progress))
        if before != listing:
            write_listing(place, listing)
    return moved


def _refuse_others(
    folder: Path, place: Place, before: Listing | None, now: Listing, there: dict[str, int]
) -> None:
    """Let pass an empty place, and one with this run as it was at some time."""
    if before is None:
        strangers = sorted(there.keys() - {LISTING + files.PART})
        if strangers:
            raise UserError(
                f"`{place.url}` must be empty to hold a run, it has {strangers[0]!r}: choose "
                "another place."
            )
        return
    known = {name: identity for name, identity in before.runs.items() if name in now.runs}
    if any(now.runs[name] != identity for name, identity in known.items()) or not known:
        raise UserError(f"`{place.url}` holds another run: choose another place.")
    for name in before.runs:
        if not name and CHAINS in now.files:
            continue  # journals are those of the chains
        prefix = f"{name}/" if name else ""
        for journal in (layout.INDEX, layout.LOG):
            entry = before.files.get(prefix + journal)
            if (
                name not in now.runs
                or entry is None
                or not inventory.begins_with(folder / name / journal, entry)
            ):
                raise UserError(
                    f"`{place.url}` holds draws or steps of this run that `{folder}` does not "
                    "have: pull it instead, or choose another place."
                )


def _send(
    folder: Path, place: Place, listing: Listing, there: dict[str, int], shown: Progress
) -> Moved:
    """Send what is not there with the right hash."""
    sent = sent_bytes = done = 0
    try:
        for name, entry in listing.in_order():
            if there.get(name) != entry.bytes or not inventory.fits(
                place.read(name, entry.bytes), entry
            ):
                place.write(name, files.read_hashed(folder / name, entry.bytes, entry.sha256))
                sent, sent_bytes = sent + 1, sent_bytes + entry.bytes
            done += entry.bytes
            shown.tell(done / max(1, listing.bytes), name)
    finally:
        shown.close()
    leftovers = {name + files.PART for name in listing.files}  # of a push that was cut short
    if leftovers & there.keys():
        for name in leftovers & place.sizes().keys():
            place.remove(name)
    return Moved(len(listing.files), listing.bytes, sent, sent_bytes)
