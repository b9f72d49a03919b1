"""The commands `pxsgmcmc push` and `pxsgmcmc pull`: a run to and from a store."""

from typing import TYPE_CHECKING, Annotated

import tyro

from pxsgmcmc.cli.saying import say
from pxsgmcmc.errors import printable

if TYPE_CHECKING:
    from pxsgmcmc.moving import Moved

Run = Annotated[str, tyro.conf.arg(metavar="RUN")]
Url = Annotated[str, tyro.conf.arg(metavar="URL")]


def push(run: Run, url: Url) -> None:
    """Send a run to a store that fsspec reaches, and read every byte back.

    pxsgmcmc push runs/mine s3://bucket/mine
    pxsgmcmc push runs/mine /mnt/archive/mine

    The run is checked first, and nobody may write to it meanwhile. What is there with the right
    hash is not sent again, so the same command goes on after an interruption and sends what is new
    of a run that went on. Another run is never overwritten.

    Args:
      run: directory of the run, or of several chains.
      url: of a folder. A protocol may need a package of its own, such as s3fs.
    """
    from pxsgmcmc.moving import push as send

    moved = send(run, url, progress=True)
    say(_said(moved, "sent"))


def pull(url: Url, run: Run) -> None:
    """Fetch a run that was sent with `pxsgmcmc push`.

    pxsgmcmc pull s3://bucket/mine runs/mine

    The directory is called RUN.part until every byte is there and checked; the same command goes
    on after an interruption. Evaluate it, or go on with its chain: `pxsgmcmc resume RUN`.

    Args:
      url: where it was sent.
      run: directory to make.
    """
    from pxsgmcmc.moving import pull as fetch

    moved = fetch(url, run, progress=True)
    say(f"{_said(moved, 'fetched')}; look at it with pxsgmcmc show {printable(run)}")


def _said(moved: "Moved", done: str) -> str:
    there = moved.files - moved.sent
    size = f"{moved.sent_bytes / 1e6:.1f} MB"
    return f"{done} {moved.sent} files ({size}), {there} were there; all hashes are right"
