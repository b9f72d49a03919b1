"""One chain, in this process: what it keeps, and that nothing but the settings decides it."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.chain import data_placement, runner, sample
from pxsgmcmc.errors import UserError
from pxsgmcmc.store import open_run, verify
from tests.helpers import chain_problems as problems
from tests.helpers.chain_problems import SETTINGS, run, same, settings


def test_loop_and_host_data_give_the_draws_of_their_own_kind_for_any_chunks():
    for layout in ({"executor": "loop"}, {"keep_data": "host"}, {"executor": "scan"}):
        assert same(run(**layout), run(**layout, chunk_seconds=1e-6))


def test_seeds_and_chains_have_randomness_of_their_own():
    first = run()
    assert not same(first, run(seed=6))
    two = run(chains=2)
    assert not same(two.chain(0), two.chain(1))
    assert same(first, run())


def test_draws_are_collapsed_and_shaped_like_the_models_parameters():
    draws = run()
    assert jax.tree.structure(draws[0]) == jax.tree.structure(problems.PARAMS)
    assert draws.steps.tolist() == [[10, 20, 30]]
    with pytest.raises(IndexError):
        draws[3]


def test_the_last_draw_is_the_collapsed_last_state():
    draws = run()
    last = jax.jit(px.collapse)(draws.last_states()[0].position)
    assert same([draws[-1]], [last])


def test_the_log_of_a_fast_chain_has_a_line_for_every_hundredth_of_its_steps():
    steps = [line["step"] for line in run(draws=60, cycle_length=2, chunk_seconds=100.0).log]
    assert steps == sorted(set(steps)) and len(steps) >= 50 and steps[-1] == 120


def test_augmentation_gets_a_key_that_depends_on_the_step():
    def noisy(key, x):
        return x + jax.random.normal(key, x.shape)

    problem = dataclasses.replace(problems.PROBLEM, augment=noisy)
    augmented = run(data=problem)
    assert same(augmented, run(data=problem, chunk_seconds=1e-6))
    assert not same(augmented, run())


def test_memory_is_given_back_once_after_the_first_chunk_was_looked_at(monkeypatch):
    steps = []
    chunk = runner.Runner._chunk

    def noted(self, *args):
        steps.append("chunk")
        return chunk(self, *args)

    monkeypatch.setattr(runner.Runner, "_chunk", noted)
    monkeypatch.setattr(runner, "give_back_freed_memory", lambda: steps.append("given back"))
    run()
    assert steps[:4] == ["chunk", "chunk", "given back", "chunk"] and steps.count("given back") == 1


def test_the_run_directory_says_what_was_run(tmp_path):
    run(out=tmp_path / "run", data=problems.PROBLEM)
    stored = open_run(tmp_path / "run")
    origin = stored.manifest["origin"]
    assert stored.status == "done" and len(stored.draws) == 3
    assert origin["seed"] == 5 and origin["likelihood"] == "gaussian(noise=1.0)"
    assert origin["method"] == "PX-SGHMC (c=1, d=1)" and origin["prior"] == "normal(1)"
    assert origin["executor"] == "scan" and origin["versions"]["jax"] == jax.__version__
    last = list(stored.read_log())[-1]
    assert last["step"] == 30 and set(last["temperature"]) == {"base", "factors"}
    assert "batch_size = 7" in stored.config


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"draws": 0}, "draws"),
        ({"cycle_length": 1.5}, "cycle_length"),
        ({"batch_size": 49}, "batch_size"),
        ({"batch_size": 0}, "batch_size"),
        ({"seed": -1}, "seed"),
        ({"executor": "fast"}, "executor"),
        ({"keep_data": "cloud"}, "keep_data"),
        ({"on_divergence": "pray"}, "on_divergence"),
        ({"chunk_seconds": 0.0}, "chunk_seconds"),
        ({"burn_in": -3}, "burn_in"),
        ({"thinning": 0}, "thinning"),
        ({"chains": 0}, "chains"),
        ({"on_signal": "ignore"}, "on_signal"),
        ({"draws_per_cycle": 0}, "draws_per_cycle"),
        ({"keep_data": "host", "executor": "scan"}, "executor"),
    ],
)
def test_a_bad_setting_is_named_in_one_sentence(bad, named):
    with pytest.raises(UserError, match=f"`{named}`") as caught:
        run(**bad)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [(np.ones(3), np.ones(4)), (), np.float32(1.0)])
def test_data_without_common_rows_are_named(data):
    with pytest.raises(UserError, match="`data` must hold arrays with the same number of rows"):
        sample(problems.SAMPLERS["sgld"], problems.PARAMS, data, **SETTINGS)


def test_data_that_do_not_fit_on_the_device_stay_in_their_memory_map(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", problems.INPUTS)
    data = (np.load(tmp_path / "x.npy", mmap_mode="r"), problems.TARGETS)
    monkeypatch.setattr(data_placement, "MOST_BYTES", 100)
    mapped = sample(
        problems.SAMPLERS["sghmc"], problems.PARAMS, data, **SETTINGS, out=tmp_path / "run"
    )
    assert open_run(tmp_path / "run").manifest["origin"]["executor"] == "loop"
    assert same(mapped, run("sghmc", executor="loop", keep_data="device"))


def test_convolutions_take_the_loop_and_the_rest_the_scan_on_a_cpu(tmp_path):
    def conv(params, x):
        image = x.reshape(-1, 1, 3, 1)
        out = jax.lax.conv_general_dilated(
            image, params["kernel"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return out.reshape(x.shape[0], 3).sum(axis=1)

    problem = dataclasses.replace(problems.PROBLEM, apply=conv)
    convolving = px.sghmc(px.potential(problem), 1e-3, friction=1.0)
    looped = sample(convolving, {"kernel": jnp.ones((1, 1, 1, 1))}, problem, **SETTINGS)
    assert looped.origin["executor"] == "loop" and run().origin["executor"] == "scan"


def test_a_folder_that_cannot_be_written_is_named_in_one_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    for out in (tmp_path / "file", tmp_path / "file" / "run"):
        for chains in (1, 2):
            with pytest.raises(UserError, match="file") as caught:
                run(out=out, chains=chains)
            assert "\n" not in str(caught.value)
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_position_that_is_one_bare_array_is_kept_and_goes_on(tmp_path):
    energy = px.potential(lambda q, x: -0.5 * (x - q) ** 2, data_size=8)
    sampler = px.sghmc(energy, 0.05, friction=2.0)

    def sampled(**more):
        return sample(sampler, jnp.zeros(()), jnp.arange(8.0), **settings(batch_size=4, **more))

    sampled(out=tmp_path / "run", draws=2)
    stored = sampled(out=tmp_path / "run", draws=3, resume=True)
    assert same(stored, sampled(draws=3)) and np.shape(stored[0]) == ()
    assert not verify(tmp_path / "run").problems
    opened = px.open(tmp_path / "run", position=jnp.zeros(()))
    assert same(opened, stored)
