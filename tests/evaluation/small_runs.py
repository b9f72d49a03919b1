"""Runs that are written down without sampling at all: each draw is the start, changed a little."""

import functools

import jax
import numpy as np

from pxsgmcmc.chain.record import to_arrays
from pxsgmcmc.config import parse_config, write_config
from pxsgmcmc.expansion import collapse
from pxsgmcmc.experiment import wire
from pxsgmcmc.store import create_run
from tests.cli.settings import SMALL


@functools.cache
def start(data="digits"):
    """The arrays of a first draw."""
    position = wire(parse_config(SMALL, ["--data.name", data])).position
    return to_arrays(jax.device_get(collapse(position)))


def shaken(seed):
    """A function from weights to others near them."""
    random = np.random.default_rng(seed)
    return lambda w: w + 0.5 * random.standard_normal(w.shape)


def written(folder, changes, *flags, chain=0, data="digits"):
    """A run with a draw for each of `changes`, functions from the weights at the start."""
    text = write_config(parse_config(SMALL, ["--data.name", data, *flags]))
    with create_run(folder, text, {"seed": 0, "chain": chain}) as run:
        for number, change in enumerate(changes, 1):
            draw = {k: np.asarray(change(v), v.dtype) for k, v in start(data).items()}
            run.commit_draw(draw, step=5 * number)
        run.update("done")
    return folder


def three_draws(folder, *flags):
    """A run with three different draws."""
    return written(folder, map(shaken, range(3)), *flags)


def two_chains(folder, draws):
    """Two chains, as the command line lays them out."""
    folder.mkdir()
    flags = ["--chains", "2"]
    (folder / "config.toml").write_text(write_config(parse_config(SMALL, flags)))
    for chain in (0, 1):
        changes = [shaken(10 * chain + draw) for draw in range(draws)]
        written(folder / f"chain-{chain:04}", changes, *flags, chain=chain)
    return folder
