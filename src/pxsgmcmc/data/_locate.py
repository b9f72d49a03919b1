"""Finding an official data set on disk, loading it, fetching it, checking it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pxsgmcmc.data._download import download
from pxsgmcmc.data._faults import damaged
from pxsgmcmc.data._official import OFFICIAL, Form, OfficialSet
from pxsgmcmc.data._stored import Stored
from pxsgmcmc.data.cache import cache_folder, digest, verify
from pxsgmcmc.data.dataset import Dataset
from pxsgmcmc.errors import UserError, did_you_mean

# Digest -> published name, to recognise a file that goes by a wrong name.
KNOWN = {
    digest: file.name
    for official in OFFICIAL.values()
    for form in official.forms
    for file in form.files
    for digest in file.hashes.values()
}


class Checked(NamedTuple):
    """What `check_official` found."""

    path: Path
    dataset: Dataset
    notes: list[str]


def official_set(name: str) -> OfficialSet:
    """The row of `OFFICIAL` called `name`."""
    if name not in OFFICIAL:
        raise UserError(
            f"No official data set is called {name!r} (embedded ones need no file); "
            f"{did_you_mean(name, OFFICIAL)}"
        )
    return OFFICIAL[name]


def load_official(
    name: str, root: str | Path | None = None, official: OfficialSet | None = None
) -> Dataset:
    """Load an official set from its archive or unpacked folder.

    An archive is read only when its size and hash are those published. Files of an unpacked folder
    are checked for size, shape and range; `check_official` compares their hashes too.

    Args:
      name: a key of `OFFICIAL`.
      root: a folder to look in instead of the cache folder, or the archive itself.
      official: the row to use instead of the one in `OFFICIAL`.
    """
    form, stored = locate(name, root, official)
    if stored.path.is_file():
        remote = replace(form.files[0], advisory={})
        verify(stored.path, replace(remote, hashes={}) if form.mapped else remote, KNOWN)
    return form.read(stored)


def locate(
    name: str, root: str | Path | None = None, official: OfficialSet | None = None
) -> tuple[Form, Stored]:
    """Where a set lies: in ROOT/NAME or ROOT, unpacked before packed, preferred form first."""
    official = official_set(name) if official is None else official
    base = cache_folder(root)
    for form in official.forms:
        for stored in _given_file(form, base) if base.is_file() else _places(form, base, name):
            return form, stored
    files = official.forms[0].files
    names, address = ", ".join(file.name for file in files), files[0].address
    if base.is_file():
        fault = f"is {KNOWN.get(digest(base, 'md5'), 'no file')} of another data set than {name}"
        raise damaged(base, fault, f"give {names} or its folder")
    raise UserError(
        f"`{name}` is not in {base}: run `pxsgmcmc data get {name}`, or place {names} "
        f"from {address} in {base / name}."
    )


def fetch_official(name: str, root: str | Path | None = None) -> tuple[list[Path], list[str]]:
    """Download the files of a set into the cache folder; return them, and notes on their hashes."""
    paths, notes = [], []
    for file in official_set(name).forms[0].files:
        path, remarks = download(file, cache_folder(root) / name, known=KNOWN)
        paths.append(path)
        notes += remarks
    return paths, notes


def check_official(name: str, root: str | Path | None = None) -> Checked:
    """Compare every file of a set with what was published, then load it."""
    form, stored = locate(name, root)
    notes = []
    if stored.path.is_file():
        notes += verify(stored.path, form.files[0], KNOWN)
    for file in form.files if stored.path.is_dir() else ():
        if (stored.path / file.name).is_file():
            notes += verify(stored.path / file.name, file, KNOWN)
    for member, md5 in form.members.items():
        path = stored.path / member
        if md5 is not None and path.is_file() and (actual := digest(path, "md5")) != md5:
            remedy = f"unpack {form.files[0].name} again"
            raise damaged(path, f"has md5 {actual} where the published file has {md5}", remedy)
    if stored.path.is_dir() and not _compared(form, stored.path):
        notes.append("no hash is published for these files: sizes, shapes and labels were checked")
    return Checked(stored.path, form.read(stored), notes)


def _compared(form: Form, folder: Path) -> bool:
    published = {file.name for file in form.files if file.hashes}
    published |= {name for name, md5 in form.members.items() if md5 is not None}
    return any((folder / name).is_file() for name in published)


def _given_file(form: Form, path: Path) -> Iterator[Stored]:
    if form.folder is None and path.name in (file.name for file in form.files):
        yield Stored(path.parent)
    elif form.folder is not None and path.name == form.files[0].name:
        yield Stored(path, form.folder, form.most_bytes)


def _places(form: Form, base: Path, name: str) -> Iterator[Stored]:
    for folder in (base / name, base):
        inner = [folder / part for part in (form.folder, *form.elsewhere) if part]
        for place in (*inner, folder):
            if _holds(place, form):
                yield Stored(place)
        if form.folder is not None and (folder / form.files[0].name).is_file():
            yield Stored(folder / form.files[0].name, form.folder, form.most_bytes)


def _holds(folder: Path, form: Form) -> bool:
    if form.members:
        names = (folder / name for name in form.members)
        return any(path.is_file() or Path(f"{path}.gz").is_file() for path in names)
    return bool(form.folder) and folder.name == form.folder and folder.is_dir()
