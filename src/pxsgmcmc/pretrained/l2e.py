"""Weights for `px.l2e`: bundled ones, those of `pxsgmcmc meta-train`, the published pickle."""

from importlib.resources import files
from pathlib import Path

import numpy as np

from pxsgmcmc.errors import UserError, did_you_mean, one_line
from pxsgmcmc.pretrained.haiku_pickle import read_haiku_pickle
from pxsgmcmc.store.tensors import decode
from pxsgmcmc.tree import nested
from pxsgmcmc.types import Tree

# Name -> file beside this one. `l2e_desk.json` says by which command and seed it was made.
BUNDLED = {"l2e/desk": "l2e_desk.safetensors"}
_MOST = 1 << 20  # bytes: the network has 6 kB of weights
_PICKLES = (".pickle", ".pkl")


def load_l2e(weights: str | Path) -> Tree:
    """The arrays of a network, {"linear_0": {"w", "b"}, ...}; their shapes are checked by `px.l2e`.

    Args:
      weights: "l2e/desk"; or a file: .safetensors, or .pickle with the published layout.

    Example:
      >>> load_l2e("l2e/desk")["linear_0"]["w"].shape
      (9, 32)
    """
    if str(weights) in BUNDLED:
        data = files("pxsgmcmc.pretrained").joinpath(BUNDLED[str(weights)]).read_bytes()
        return nested(decode(data))
    path = Path(weights)
    if path.suffix not in (".safetensors", *_PICKLES):
        hint = did_you_mean(weights, BUNDLED)
        raise UserError(
            "`weights` must be the name of bundled weights or a file ending in .safetensors, "
            f".pickle or .pkl, got {one_line(str(weights))}; {hint}"
        )
    data = _bytes_of(path)
    if path.suffix in _PICKLES:
        return {
            name.removeprefix("mlp/~/"): layer
            for name, layer in read_haiku_pickle(data, str(path)).items()
        }
    try:
        return nested({name: np.asarray(array) for name, array in decode(data).items()})
    except ValueError as error:
        raise UserError(f"`weights` cannot be used: {path} is {error}.") from None


def _bytes_of(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST + 1)
    except OSError as error:
        raise UserError(f"`weights` cannot be read: {path}: {error.strerror}.") from None
    if len(data) > _MOST:
        raise UserError(
            f"`weights` must be a file of at most {_MOST} bytes, as such a network has 6 kB, got "
            f"more in {path}."
        )
    return data
