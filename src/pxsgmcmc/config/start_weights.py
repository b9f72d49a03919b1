"""Weights to start from: a draw of a run, or a file."""

from pathlib import Path

from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.store import open_run
from pxsgmcmc.store.tensors import decode
from pxsgmcmc.tree import from_arrays
from pxsgmcmc.types import Tree


def stored_weights(start: str, like: Tree) -> Tree:
    """Parameters shaped like `like` from RUN (its last draw), RUN:NUMBER or a safetensors file."""
    if start.endswith(".safetensors"):
        try:
            arrays = decode(Path(start).read_bytes())
        except OSError as error:
            raise UserError(f"`chain.start` cannot be read: {start}: {error.strerror}.") from None
        except ValueError as error:
            raise UserError(f"`chain.start` cannot be used: {start} is {error}.") from None
    else:
        folder, colon, number = start.rpartition(":")
        folder, number = (folder, number) if colon and number.isdecimal() else (start, "")
        try:
            run = open_run(folder)
            arrays = run.load_draw(int(number) if number else max(1, len(run.draws)))
        except UserError as error:
            raise UserError(f"`chain.start` cannot be used: {error}") from None
    try:
        return from_arrays(arrays, like, start)
    except CorruptRun as error:
        raise UserError(f"`chain.start` cannot be used: {error}") from None
