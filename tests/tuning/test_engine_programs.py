"""Chains side by side: halves of them in threads are the chains that each would be alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.tuning.engine.programs import Settings, Spec, make_program
from pxsgmcmc.tuning.engine.settings import at_rest
from tests.helpers.closeness import assert_close
from tests.tuning.test_dear_steps import BATCH, PARAMS, ROWS, data, problem, stacked

STEPS = 20


def advanced(chains, numbers):
    """State and sums of so many chains of a program, with the starts and keys of these numbers."""
    made = make_program(problem(), Spec(None, 1, "sghmc", chains, BATCH))
    state = jax.tree.map(lambda x: x[numbers], at_rest(stacked(made, 4)))
    settings = Settings(0.01, {"base": 2.0, "factors": 3.0}, (1.0,) * 8, 100.0).typed()
    rows = np.random.default_rng(2).integers(ROWS, size=(4, STEPS, BATCH)).astype(np.int32)[numbers]
    keys = [
        tuple(jax.vmap(jax.random.key)(seeds + np.array(numbers[part])) for seeds in (0, 100))
        for part in made.spec.parts
    ]
    active = np.ones(chains, bool)
    first, _ = made.advance(state, np.int32(1), rows, data(), settings, keys, active)
    rest = made.advance(first, np.int32(STEPS - 1), rows[:, 1:], data(), settings, keys, active)
    return made.spec.parts, rest


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="parts are those of a CPU")
def test_four_chains_in_halves_are_those_that_run_alone():
    parts, (state, sums) = advanced(4, [0, 1, 2, 3])
    assert parts == [slice(0, 2), slice(2, 4)]
    for number in range(4):
        alone, (one, its) = advanced(1, [number])
        assert alone == [slice(0, 1)]
        for together, by_itself in zip(
            jax.tree.leaves((state.position, sums.energy)),
            jax.tree.leaves((one.position, its.energy)),
            strict=True,
        ):
            # Some hundred roundings a step: sums over a few units and rows, and the update.
            assert_close(together[number], by_itself[0], terms=200 * STEPS)


def test_parts_keep_to_the_settings_that_jax_has_for_the_caller():
    def promotes(params, x):
        return jnp.tanh(x @ params["a"]["kernel"] + params["a"]["bias"]) @ params["b"]["kernel"]

    train = problem().train
    careless = px.Problem(promotes, px.likelihoods.categorical(), train=train)
    with jax.numpy_rank_promotion("allow"):  # the tests have "raise"
        run = px.fit(careless, PARAMS, draws=1, chains=2, max_seconds=0.001, progress=False)
    assert len(run) == 2


def test_parts_hold_every_chain_once_whatever_their_number():
    for executor in ("scan", "loop"):
        for chains in (1, 2, 3, 4, 7, 8):
            parts = Spec(None, 1, "sghmc", chains, BATCH, executor).parts
            assert [n for part in parts for n in range(chains)[part]] == list(range(chains))
