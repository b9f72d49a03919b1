"""The files of pages: one that is there is replaced only if an earlier call wrote it."""

import os
from collections.abc import Iterable
from pathlib import Path

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.store.files import read_file

KIND = "pxsgmcmc reproduce"  # how the line above the title of a page begins
INDEX = "index"
_MOST = 1 << 28  # bytes of a page


def check_pages(names: Iterable[str], folder: Path) -> None:
    """Refuse to replace a file that is no page of ours.

    Args:
      names: of the experiments whose pages are to be written.
      folder: of the pages of a scale.
    """
    for name in (*names, INDEX):
        path = page_path(folder, name)
        if os.path.lexists(path) and not _is_ours(path):
            raise UserError(
                f"`{path}` is there and no page of `{KIND}`: name another folder with --pages."
            )


def page_path(folder: Path, name: str) -> Path:
    """Where the page of an experiment goes."""
    return folder / f"{name}.html"


def _is_ours(path: Path) -> bool:
    try:
        return f'<p class="kind">{KIND}'.encode() in read_file(path, at_most=_MOST)
    except CorruptRun:  # a link, a pipe, a folder
        return False
