"""At which steps draws are taken, and where a schedule then is."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import pytest

import pxsgmcmc as px
from pxsgmcmc.chain import sample
from pxsgmcmc.errors import UserError
from tests.helpers.chain_problems import run, same


def constant_drift(schedule):
    """A sampler whose position is the sum of its step sizes."""

    def step(key, state, batch):
        h = schedule(state.step)
        return State(state.step + 1, state.position + h), px.StepInfo(jnp.zeros(()), h)

    facts = px.SamplerFacts("drift", lambda q, b: 0.0, schedule, 0.0)
    return px.Sampler(lambda q: State(jnp.int32(0), q), step, facts)


class State(NamedTuple):
    step: jax.Array
    position: jax.Array


def test_burn_in_and_draws_per_cycle_choose_among_the_same_steps():
    every = run(draws=30, cycle_length=1)
    chosen = run(draws=4, cycle_length=10, burn_in=5, draws_per_cycle=2, thinning=3)
    assert chosen.steps.tolist() == [[12, 15, 22, 25]]
    assert same([every[i - 1] for i in chosen.steps[0]], list(chosen))


def test_burn_in_shifts_a_cyclical_schedule_so_that_draws_lie_where_cycles_end():
    schedule = px.cyclical(1.0, 10)
    drift = constant_drift(schedule)
    data = jnp.zeros(8)
    common = {"cycle_length": 10, "batch_size": 2, "progress": False}
    plain = sample(drift, jnp.zeros(()), data, draws=2, **common)
    cycle = float(plain[1] - plain[0])
    shifted = sample(drift, jnp.zeros(()), data, draws=2, burn_in=4, **common)
    assert float(shifted[1] - shifted[0]) == pytest.approx(cycle, rel=1e-6)
    tail = sum(float(schedule(t)) for t in range(6, 10))  # burn-in is the end of a cycle
    assert float(shifted[0]) == pytest.approx(tail + cycle, rel=1e-6)


@pytest.mark.parametrize("cycle_length", [15, 5])
def test_a_schedule_whose_period_does_not_match_the_draws_is_refused(cycle_length):
    with pytest.raises(UserError, match="`cycle_length` must be a multiple of the schedule's"):
        sample(
            constant_drift(px.cyclical(1.0, 10)),
            jnp.zeros(()),
            jnp.zeros(8),
            draws=2,
            cycle_length=cycle_length,
            batch_size=2,
        )
