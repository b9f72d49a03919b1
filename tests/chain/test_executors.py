"""What a chunk of steps reports is what its steps said, whoever takes them."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pxsgmcmc.chain.executors import Advance
from pxsgmcmc.rng import streams
from pxsgmcmc.types import MetropolisInfo, Sampler, StepInfo

DATA = np.arange(10.0, dtype=np.float32)
ROWS = np.array([[3, 4], [9, 0], [5, 5]], np.int32)  # means 3.5, 4.5, 5


class State(NamedTuple):
    step: jax.Array
    position: jax.Array


def plain(step, mean):
    return StepInfo(mean, 0.5 * step.astype(float))


def with_tests(step, mean):
    """Every second step has a test."""
    return MetropolisInfo(
        mean, 0.5 * step.astype(float), jnp.where(step % 2 == 1, mean / 10, jnp.nan), True
    )


def advance(info, kind):
    def step(key, state, batch):
        state = State(state.step + 1, state.position + jnp.sum(batch))
        return state, info(state.step, jnp.mean(batch))

    data = DATA if kind == "host" else jnp.asarray(DATA)
    executor = "scan" if kind == "scan" else "loop"
    sampler = Sampler(lambda position: State(jnp.int32(6), position), step)
    take = Advance(sampler, data, [streams(0)], executor, None, batch_size=2)
    return take(sampler.init(jnp.zeros(())), 6, ROWS)


@pytest.mark.parametrize("kind", ["loop", "scan", "host"])
def test_energies_are_summed_and_the_last_is_the_last(kind):
    state, sums = advance(plain, kind)
    assert (int(state.step), float(state.position)) == (9, 26.0)
    assert (float(sums.energy), float(sums.last_energy)) == (13.0, 5.0)
    assert float(sums.last_step_size) == float(sums.largest_step_size) == 4.5  # of step 9
    assert float(sums.step_size) == 3.5 + 4.0 + 4.5
    assert float(sums.tests) == 0.0


@pytest.mark.parametrize("kind", ["loop", "scan", "host"])
def test_only_steps_with_a_test_count_for_the_acceptance(kind):
    _, sums = advance(with_tests, kind)
    assert float(sums.tests) == 2.0
    assert float(sums.acceptance) == pytest.approx(0.35 + 0.5)


@pytest.mark.parametrize("kind", ["loop", "scan", "host"])
def test_one_bad_energy_is_not_lost_in_the_sum(kind):
    def bad_once(step, mean):
        return StepInfo(jnp.where(step == 8, jnp.nan, mean), 0.1)

    _, sums = advance(bad_once, kind)
    assert np.isnan(float(sums.energy)) and float(sums.last_energy) == 5.0
