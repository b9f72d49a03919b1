"""A chain that leaves where its steps are stable: noticed within its chunk, nothing bad kept."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.chain import sample
from pxsgmcmc.chain.divergence import DivergenceWatch
from pxsgmcmc.errors import Diverged, UserError
from pxsgmcmc.store import open_run
from tests.helpers import chain_problems as problems
from tests.helpers.chain_problems import SETTINGS, settings


@pytest.mark.parametrize("policy", ["stop", "retry"])
def test_divergence_ends_the_run_and_keeps_no_bad_draw(policy, tmp_path):
    with pytest.raises(Diverged, match="step size"):
        sample(
            problems.diverges,
            problems.PARAMS,
            problems.DATA,
            **settings(out=tmp_path / "run", on_divergence=policy, retries=2),
        )
    stored = open_run(tmp_path / "run")
    assert stored.status == "diverged" and not stored.draws
    back = stored.manifest["progress"].get("retried", [])
    assert [one["step_size_factor"] for one in back] == ([0.5, 0.25] if policy == "retry" else [])


def test_a_retry_halves_the_step_size_until_the_chain_is_stable(tmp_path):
    def build(scale):
        return px.sghmc(problems.U, lambda t: scale * px.constant(0.6)(t), friction=1.0)

    done = sample(
        build,
        problems.PARAMS,
        problems.DATA,
        **settings(
            draws=5, cycle_length=50, out=tmp_path / "run", on_divergence="retry", retries=8
        ),
    )
    progress = open_run(tmp_path / "run").manifest["progress"]
    back = progress["retried"]
    assert done.status == "done" and len(back) >= 1
    assert back[-1]["step_size_factor"] == 0.5 ** len(back)
    assert all(one["back_to"] < one["noticed"] for one in back)
    assert all(np.isfinite(leaf).all() for draw in done for leaf in jax.tree.leaves(draw))


def test_a_retry_needs_a_way_to_scale_the_steps():
    with pytest.raises(UserError, match="must be a function from a factor on the step size"):
        run_built = problems.SAMPLERS["sgld"](1.0)
        sample(run_built, problems.PARAMS, problems.DATA, **settings(on_divergence="retry"))


@pytest.mark.parametrize("step", [0, 1, 9, 10, 23])
def test_a_single_nan_is_noticed_within_its_chunk_and_never_kept(step, tmp_path):
    built = problems.SAMPLERS["px_sghmc"](1.0)

    def poisoned(key, state, batch):
        after, info = built.step(key, state, batch)
        bad = jax.tree.map(lambda q: jnp.where(state.step == step, jnp.nan, q), after.position)
        return after._replace(position=bad), info

    with pytest.raises(Diverged, match="not finite"):
        sample(
            px.Sampler(built.init, poisoned),
            problems.POSITION,
            problems.DATA,
            **SETTINGS | {"out": tmp_path / "run"},
        )
    stored = open_run(tmp_path / "run")
    assert len(stored.draws) == step // 10
    for _, arrays in stored.iter_draws():
        assert all(np.isfinite(x).all() for x in arrays.values())


def test_an_energy_that_jumps_and_a_norm_that_runs_away_are_noticed():
    def look(watch, energy, norm):
        watch.check(0, 9, energy, 0.1, {"base": norm})

    watch = DivergenceWatch(coordinates=100)
    look(watch, 500.0, 10.0)
    look(watch, 5_000.0, 10.0)
    with pytest.raises(Diverged, match=r"energy jumped to 6e.*largest step size 0.1"):
        look(watch, 6e4, 10.0)
    with pytest.raises(Diverged, match="ran away to 3e"):
        look(watch, 500.0, 3e4)
    recalled = DivergenceWatch(coordinates=100)
    recalled.recall(json.loads(json.dumps(watch.memory())))
    assert recalled.largest_energy == 5_000.0 and recalled.first_norm == 10.0


def test_an_energy_that_is_not_finite_at_the_start_blames_the_input():
    def broken(params, x):
        return problems.apply(params, x) / 0.0

    problem = dataclasses.replace(problems.PROBLEM, apply=broken)
    sampler = px.sghmc(px.potential(problem), 1e-3, friction=1.0)
    with pytest.raises(UserError, match="before the first step, so the input is to blame"):
        sample(sampler, problems.PARAMS, problem, **SETTINGS)


def test_a_divergence_quotes_the_largest_step_of_its_chunk_not_the_last():
    built = problems.SAMPLERS["px_sghmc"](1.0)  # its cycles of 10 steps go down from 0.01

    def poisoned(key, state, batch):
        after, info = built.step(key, state, batch)
        return after, info._replace(energy=jnp.where(state.step == 9, jnp.nan, info.energy))

    # Chunks of 1, 1 and 4 steps, and then up to the draw: that begins in the middle of the cycle.
    with pytest.raises(Diverged, match=r"steps 6 to 9, largest step size 0\.00345\)"):
        sample(
            px.Sampler(built.init, poisoned),
            problems.POSITION,
            problems.DATA,
            **settings(chunk_seconds=1e6),
        )


def test_one_of_several_chains_that_diverges_is_named_and_a_single_one_is_not():
    for chains, begins in ((2, "^Chain 0: "), (1, "^The ")):
        with pytest.raises(Diverged, match=begins):
            sample(problems.diverges, problems.PARAMS, problems.DATA, **settings(chains=chains))
