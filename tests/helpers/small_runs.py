"""Runs whose draws are made up: each is the start of a real run, changed a little."""

import functools
import tempfile
from pathlib import Path

import numpy as np

from pxsgmcmc.config import parse_config, write_config
from pxsgmcmc.config.run_config import run_config
from pxsgmcmc.store import create_chains, create_run, open_run
from tests.helpers.small_settings import SMALL


def sampled(folder, *flags, chain=0, text=SMALL):
    """A run of the small configuration, sampled."""
    return run_config(parse_config(text, list(flags)), folder, chain=chain, progress=False)


@functools.cache
def _real(*flags):
    """What the manifest of a real run of one step says, and the arrays of its draw."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "run"
        sampled(place, *flags, "--chain.draws", "1", "--chain.cycle_length", "1")
        run = open_run(place)
        return run.manifest["origin"], run.load_draw(1)


def shaken(seed):
    """A function from weights to others near them."""
    random = np.random.default_rng(seed)
    return lambda w: w + 0.5 * random.standard_normal(w.shape)


def written(folder, changes, *flags, chain=0, data="digits", energy=None):
    """A run with a draw for each of `changes`, functions from the weights at the start."""
    flags = ("--data.name", data, *flags)
    origin, arrays = _real(*flags)
    text = write_config(parse_config(SMALL, list(flags)))
    with create_run(folder, text, {**origin, "chain": chain}) as run:
        for number, change in enumerate(changes, 1):
            draw = {k: np.asarray(change(v), v.dtype) for k, v in arrays.items()}
            run.commit_draw(draw, step=5 * number, energy=energy)
        run.update("done")
    return folder


def three_draws(folder, *flags):
    """A run with three different draws."""
    return written(folder, map(shaken, range(3)), *flags)


def two_chains(folder, draws):
    """Two chains, as the command line lays them out."""
    flags = ["--chains", "2"]
    create_chains(folder, 2, write_config(parse_config(SMALL, ["--data.name", "digits", *flags])))
    for chain in (0, 1):
        changes = [shaken(10 * chain + draw) for draw in range(draws)]
        written(folder / f"chain-{chain:04}", changes, *flags, chain=chain)
    return folder
