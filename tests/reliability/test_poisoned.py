"""One bad number anywhere at any step is noticed within its chunk, and nothing bad is kept."""

import random
import re
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import pxsgmcmc as px
from pxsgmcmc.chain.batches import Batches
from pxsgmcmc.chain.collection import Collection
from pxsgmcmc.chain.divergence import DivergenceWatch
from pxsgmcmc.chain.executors import Advance
from pxsgmcmc.chain.runner import Runner
from pxsgmcmc.chain.under_way import ChainUnderWay, Pace
from pxsgmcmc.errors import Diverged
from pxsgmcmc.progress import Silent
from pxsgmcmc.rng import streams
from pxsgmcmc.samplers.sghmc import SGHMCState
from pxsgmcmc.store import create_run, open_run, verify
from tests.reliability.proofs import record
from tests.reliability.small_chains import INPUTS, LABELS, problem

KINDS = {"position": 0, "momentum": 1, "energy": 2}
COLLECTION = Collection(draws=5, cycle_length=40)
NEVER = -1


class Poison(NamedTuple):
    """Which step makes which number bad; part of the state, so that nothing is compiled again."""

    at: Any
    kind: Any
    place: Any
    value: Any


class Poisoned(NamedTuple):
    step: Any
    position: Any
    momentum: Any
    poison: Poison


def spoil(tree, where, place, value):
    flat, unflatten = ravel_pytree(tree)
    return unflatten(jnp.where(where, flat.at[place].set(value), flat))


def poisonable(sampler):
    def init(position):
        inner = sampler.init(position)
        none = Poison(jnp.int32(NEVER), jnp.int32(0), jnp.int32(0), jnp.float32(0.0))
        return Poisoned(*inner, none)

    def step(key, state, batch):
        after, info = sampler.step(key, SGHMCState(*state[:3]), batch)
        now, poison = state.step == state.poison.at, state.poison
        position, momentum = (
            spoil(tree, now & (poison.kind == kind), poison.place, poison.value)
            for kind, tree in enumerate((after.position, after.momentum))
        )
        bad = now & (poison.kind == KINDS["energy"])
        info = info._replace(energy=jnp.where(bad, poison.value, info.energy))
        return Poisoned(after.step, position, momentum, poison), info

    return px.Sampler(init, step)


class Chains:
    """Chains with and without poison, which share one compiled step."""

    def __init__(self, folder):
        build, position = problem("px_sghmc")
        sampler, self.keys = poisonable(build(1.0)), streams(0)
        data = jax.tree.map(jnp.asarray, (INPUTS, LABELS))
        self.advance = Advance(sampler, data, [self.keys], "scan", None, 7)
        self.start, self.size = sampler.init(position), len(ravel_pytree(position)[0])
        self.folder, self.made = folder, 0

    def run(self, poison=None, chunk_seconds=1.0):
        """Run one; its directory is `last` whether it diverges or not."""
        self.made += 1
        start = self.start if poison is None else self.start._replace(poison=poison)
        batches = Batches(self.keys.batches, data_size=len(INPUTS), batch_size=7)
        watch, pace = DivergenceWatch(coordinates=100), Pace(chunk_seconds, 10.0, 0)
        with create_run(self.last, "", {}) as stored:
            chain = ChainUnderWay(stored, batches, watch)
            Runner(lambda _: self.advance, start, [chain], COLLECTION, pace, Silent()).run()

    @property
    def last(self):
        return self.folder / str(self.made)


@pytest.fixture(scope="module")
def chains(tmp_path_factory):
    return Chains(tmp_path_factory.mktemp("poisoned"))


def hashes(folder):
    return [draw.sha256 for draw in open_run(folder).draws]


def poison_and_look(chains, times, seed):
    """How many of so many poisoned chains were noticed in time, and how many kept a bad draw."""
    choices, noticed, bad_draws = random.Random(seed), 0, 0
    chains.run()
    whole = hashes(chains.last)
    assert len(whole) == COLLECTION.draws
    for _ in range(times):
        kind = choices.choice(list(KINDS))
        # The energy of step 0 is that of the start: if it is bad, that is the input's fault.
        at = choices.randrange(int(kind == "energy"), COLLECTION.step_of(5))
        place = choices.randrange(chains.size)
        value = choices.choice([np.nan, np.inf, -np.inf])
        poison = Poison(*map(jnp.int32, (at, KINDS[kind], place)), jnp.float32(value))
        with pytest.raises(Diverged) as caught:
            chains.run(poison, choices.choice([1e-6, 1e-3, 1.0]))
        said = re.search(r"steps (\d+) to (\d+)", str(caught.value))
        noticed += int(said[1]) <= at <= int(said[2])
        bad_draws += hashes(chains.last) != whole[: at // COLLECTION.cycle_length]
        assert open_run(chains.last).status == "diverged" and not verify(chains.last).problems
    return noticed, bad_draws


def test_a_bad_number_is_noticed_within_its_chunk_and_never_kept(chains):
    assert poison_and_look(chains, 15, seed=1) == (15, 0)


@pytest.mark.slow
def test_two_hundred_bad_numbers_are_noticed_within_their_chunks_and_never_kept(chains):
    noticed, bad_draws = poison_and_look(chains, 200, seed=2)
    record("poisoned", injected=200, noticed_within_the_chunk=noticed, bad_draws_kept=bad_draws)
    assert (noticed, bad_draws) == (200, 0)
