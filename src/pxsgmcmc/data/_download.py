"""Downloading a published file: with progress, resumable, checked before it gets its name.

pooch (1.9.0) begins a download that was cut off from the start, which 2.9 GB do not forgive.
"""

import http.client
import os
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

from pxsgmcmc.data._faults import damaged
from pxsgmcmc.data.cache import Remote, verify
from pxsgmcmc.errors import UserError, printable

BLOCK = 1 << 18


def download(
    remote: Remote,
    folder: Path,
    *,
    known: Mapping[str, str] | None = None,
    timeout: float = 30.0,
) -> tuple[Path, list[str]]:
    """Bring `remote` into `folder`; return its path and the notes of `verify`.

    What arrives goes to NAME.part, which a later call continues; only when size and hash are right
    is it renamed to NAME. A file that is there already is checked and kept.
    """
    target, part = folder / remote.name, folder / f"{remote.name}.part"
    if target.exists():
        return target, verify(target, remote, known)
    created = _make_folder(folder)
    try:
        _receive(remote, part, timeout)
        try:
            notes = verify(part, remote, known)
        except UserError:
            part.unlink()  # going on from wrong bytes would only give wrong bytes again
            raise
        _rename(part, target)
    finally:
        if part.exists() and part.stat().st_size == 0:
            part.unlink()
        for empty in created:
            if not any(empty.iterdir()):
                empty.rmdir()
    return target, notes


def _make_folder(folder: Path) -> list[Path]:
    """Make `folder`; return the folders made, innermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"The data folder {folder} cannot be made ({error.strerror}); name another by "
            "`--root` or by the variable PXSGMCMC_DATA."
        ) from error
    return missing


def _receive(remote: Remote, part: Path, timeout: float) -> None:
    have = part.stat().st_size if part.exists() else 0
    if remote.size is not None and have == remote.size:
        return
    if remote.size is not None and have > remote.size:
        part.unlink()
        have = 0
    try:
        with _ask(remote.address, have, timeout) as response:
            have = have if response.status == 206 else 0
            total = _offered(response, remote, have, part)
            with part.open("ab" if have else "wb") as file:
                got = _copy(response, file, remote, have, total)
    except (URLError, OSError, http.client.HTTPException) as error:
        if isinstance(error, HTTPError):
            error.close()
        fault = f"could not be downloaded ({printable(error, 90)})"
        raise damaged(remote.address, fault, _by_hand(remote, part)) from error
    if total is not None and got < total:
        raise damaged(
            part, f"stopped at {got:,} of {total:,} bytes", "run the same command again to go on"
        )


def _ask(address: str, have: int, timeout: float) -> http.client.HTTPResponse:
    """The rest of the file after `have` bytes (status 206), or all of it when that is refused."""
    headers = {"User-Agent": "pxsgmcmc"}
    if have:
        ranged = Request(address, headers={**headers, "Range": f"bytes={have}-"})
        try:
            response = urlopen(ranged, timeout=timeout)
            begins = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
            if response.status != 206 or begins:
                return response
            response.close()
        except HTTPError as error:
            error.close()
            if error.code != 416:  # 416: nothing comes after what we have, so it is of another file
                raise
    return urlopen(Request(address, headers=headers), timeout=timeout)


def _offered(
    response: http.client.HTTPResponse, remote: Remote, have: int, part: Path
) -> int | None:
    """The size the file will have, as the answer's header says; refuse another than published."""
    if response.headers.get_content_type() == "text/html":
        raise damaged(remote.address, "answers with a web page", _by_hand(remote, part))
    length = response.headers.get("Content-Length", "")
    total = have + int(length) if length.isdigit() else remote.size
    if remote.size is not None and total != remote.size:
        part.unlink(missing_ok=True)
        fault = f"offers {total:,} bytes where {remote.name} has {remote.size:,}"
        raise damaged(remote.address, fault, _by_hand(remote, part))
    return total


def _copy(
    response: http.client.HTTPResponse,
    file: BinaryIO,
    remote: Remote,
    got: int,
    total: int | None,
) -> int:
    """Write the answer to `file`, showing progress; return the bytes the file has then."""
    columns = ("{task.description}", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, transient=True, console=Console(stderr=True)) as progress:
        task = progress.add_task(remote.name, total=total, completed=got)
        while block := response.read(BLOCK):
            file.write(block)
            got += len(block)
            progress.update(task, completed=got)
            if total is not None and got > total:
                break  # not the published file: `verify` will say so
        file.flush()
        os.fsync(file.fileno())
    return got


def _rename(part: Path, target: Path) -> None:
    os.replace(part, target)
    if os.name == "posix":  # make the new name last through a crash
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _by_hand(remote: Remote, part: Path) -> str:
    return (
        f"run the command again later, or fetch {remote.name} from {remote.address} elsewhere and "
        f"place it in {part.parent}"
    )
