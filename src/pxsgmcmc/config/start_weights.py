"""Weights to start from: a draw of the prior, a draw of a run, or a file."""

import math
import os
from pathlib import Path

import jax

from pxsgmcmc.config.schema import PriorSettings
from pxsgmcmc.errors import CorruptRun, UserError
from pxsgmcmc.problem import Problem
from pxsgmcmc.store import open_run
from pxsgmcmc.store.tensors import decode
from pxsgmcmc.tree import from_arrays
from pxsgmcmc.types import Array, Key, Tree


def prior_draw(section: PriorSettings, problem: Problem, key: Key, like: Tree) -> Tree:
    """A draw of the prior for the network; the likelihood's own parameters where they begin.

    Weights of the posterior are about as large as those of the prior wherever the data say little,
    which is in most directions. What an optimiser begins at is smaller, and a chain from there
    spends most of its burn-in growing.
    """

    def draw(key: Key, leaf: Array) -> Array:
        if section.family == "normal":
            scale = math.sqrt(section.variance)
            return scale * jax.random.normal(key, leaf.shape, leaf.dtype)
        if section.family == "laplace":
            return section.scale * jax.random.laplace(key, leaf.shape, leaf.dtype)
        return section.scale * jax.random.t(key, section.freedom, leaf.shape, leaf.dtype)

    network, _ = problem.split(like)
    leaves, structure = jax.tree.flatten(network)
    keys = jax.random.split(key, len(leaves))
    drawn = jax.tree.unflatten(structure, [draw(k, x) for k, x in zip(keys, leaves, strict=True)])
    return problem.start(drawn)


def stored_weights(start: str, like: Tree) -> Tree:
    """Parameters shaped like `like` from RUN (its last draw), RUN:NUMBER or a safetensors file."""
    if start.endswith(".safetensors"):
        if os.path.exists(start) and not os.path.isfile(start):
            raise UserError(f"`chain.start` cannot be read: {start} is not a regular file.")
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
