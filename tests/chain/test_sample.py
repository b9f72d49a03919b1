"""One chain, in this process: what it keeps, and that nothing but the settings decides it."""

import contextlib
import io
import json
import os
import signal
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.chain import runner, sample
from pxsgmcmc.errors import CorruptRun, Diverged, UserError
from pxsgmcmc.store import open_run, verify
from tests.chain import problems

SETTINGS = {"draws": 3, "steps": 10, "batch_size": 7, "seed": 5, "progress": False}


def run(name="px_sghmc", **changes):
    return sample(
        problems.SAMPLERS[name], problems.start_of(name), problems.DATA, **SETTINGS | changes
    )


def same(a, b):
    """Whether two chains have the same draws, bit for bit."""
    return len(a) == len(b) and all(
        np.array_equal(x, y)
        for p, q in zip(a, b, strict=True)
        for x, y in zip(jax.tree.leaves(p), jax.tree.leaves(q), strict=True)
    )


@pytest.fixture
def signal_after(monkeypatch):
    """Sends a signal to this process after so many chunks."""

    def arrange(chunks, number=signal.SIGTERM):
        count, chunk = 0, runner.Runner._chunk

        def counted(self, *args):
            nonlocal count
            count += 1
            if count == chunks:
                os.kill(os.getpid(), number)
            return chunk(self, *args)

        monkeypatch.setattr(runner.Runner, "_chunk", counted)

    return arrange


@pytest.mark.parametrize("name", problems.SAMPLERS)
def test_chunks_do_not_matter_and_a_resumed_run_equals_one_that_never_stopped(
    name, tmp_path, signal_after
):
    whole = run(name)
    signal_after(2)
    stopped = run(name, out=tmp_path / "run", chunk_seconds=1e-6)
    assert stopped.status == "interrupted" and stopped.stopped_by == signal.SIGTERM
    assert len(stopped) < len(whole) and open_run(tmp_path / "run").status == "interrupted"
    resumed = run(name, out=tmp_path / "run", resume=True, chunk_seconds=1e-6)
    assert resumed.status == "done" and same(whole, resumed)
    assert np.array_equal(whole.energies, resumed.energies)
    assert not verify(tmp_path / "run").problems


def test_loop_and_host_data_give_the_draws_of_their_own_kind_for_any_chunks():
    for layout in ({"executor": "loop"}, {"keep_data": "host"}, {"executor": "scan"}):
        assert same(run(**layout), run(**layout, chunk_seconds=1e-6))


def test_seeds_and_chains_have_randomness_of_their_own():
    first = run()
    assert not same(first, run(seed=6))
    assert not same(first, run(chain=1))
    assert same(first, run())


def test_draws_are_collapsed_and_shaped_like_the_models_parameters():
    draws = run()
    assert jax.tree.structure(draws[0]) == jax.tree.structure(problems.PARAMS)
    assert draws.steps.tolist() == [10, 20, 30]
    with pytest.raises(IndexError):
        draws[3]


def test_the_last_draw_is_the_collapsed_last_state():
    draws = run()
    last = jax.jit(px.collapse)(draws.state.position)
    assert same([draws[-1]], [last])


def test_burn_in_and_draws_per_cycle_choose_among_the_same_steps():
    every = run(draws=30, steps=1)
    chosen = run(draws=4, steps=10, burn_in=5, draws_per_cycle=2, every=3)
    assert chosen.steps.tolist() == [12, 15, 22, 25]
    assert same([every[i - 1] for i in chosen.steps], list(chosen))


def test_preparation_gets_a_key_that_depends_on_the_step():
    def prepare(key, batch):
        return batch[0] + jax.random.normal(key, batch[0].shape), batch[1]

    noisy = run(prepare=prepare)
    assert same(noisy, run(prepare=prepare, chunk_seconds=1e-6))
    assert not same(noisy, run())


def test_memory_is_given_back_once_after_the_first_chunk(monkeypatch):
    steps = []
    chunk = runner.Runner._chunk

    def noted(self, *args):
        steps.append("chunk")
        return chunk(self, *args)

    monkeypatch.setattr(runner.Runner, "_chunk", noted)
    monkeypatch.setattr(runner, "give_back_freed_memory", lambda: steps.append("given back"))
    run()
    assert steps[:3] == ["chunk", "given back", "chunk"] and steps.count("given back") == 1


def test_the_run_directory_says_what_was_run(tmp_path):
    run(out=tmp_path / "run", facts={"data": "abc"})
    stored = open_run(tmp_path / "run")
    origin = stored.manifest["origin"]
    assert stored.status == "done" and len(stored.draws) == 3
    assert origin["seed"] == 5 and origin["data"] == "abc"
    assert origin["executor"] == "scan" and origin["versions"]["jax"] == jax.__version__
    last = list(stored.read_log())[-1]
    assert last["step"] == 30 and set(last["temperature"]) == {"base", "factors"}
    assert "batch_size = 7" in stored.config


def test_a_used_directory_is_refused_unless_resumed_with_the_same_settings(tmp_path):
    first = run(out=tmp_path / "run")
    with pytest.raises(UserError, match="already holds a run: go on with --resume"):
        run(out=tmp_path / "run")
    assert same(first, run(out=tmp_path / "run", resume=True))
    with pytest.raises(UserError, match="other settings"):
        run(out=tmp_path / "run", resume=True, draws=4)
    with pytest.raises(UserError, match="`executor` must be 'scan'"):
        run(out=tmp_path / "run", resume=True, executor="loop")


def test_another_version_of_jax_is_mentioned_on_resuming(tmp_path, monkeypatch, capsys):
    run(out=tmp_path / "run")
    module = sys.modules["pxsgmcmc.chain.sample"]  # the name means the function
    monkeypatch.setattr(module, "versions", lambda: {"jaxlib": "9.9.9"})
    run(out=tmp_path / "run", resume=True, progress="plain")
    assert "this is jaxlib 9.9.9: the last bits may differ" in capsys.readouterr().err


def test_a_run_of_another_version_of_the_library_is_mentioned_too(tmp_path, monkeypatch, capsys):
    module, origin = (sys.modules[f"pxsgmcmc.chain.{name}"] for name in ("sample", "origin"))
    monkeypatch.setattr(origin, "versions", dict)  # as runs before the version was written down
    run(out=tmp_path / "run")
    monkeypatch.setattr(module, "versions", lambda: {"pxsgmcmc": "9.9"})
    run(out=tmp_path / "run", resume=True, progress="plain")
    said = capsys.readouterr().err
    assert "began with pxsgmcmc unknown, this is pxsgmcmc 9.9: the draws may differ" in said


def test_a_state_of_another_model_is_not_loaded(tmp_path, signal_after):
    signal_after(2)
    run("sghmc", out=tmp_path / "run", chunk_seconds=1e-6)
    with pytest.raises(CorruptRun, match="does not fit this model"):
        run("sgld", out=tmp_path / "run", resume=True)


@pytest.mark.parametrize("policy", ["stop", "retry"])
def test_divergence_ends_the_run_and_keeps_no_bad_draw(policy, tmp_path):
    with pytest.raises(Diverged, match="step size"):
        sample(
            problems.diverges,
            problems.PARAMS,
            problems.DATA,
            **SETTINGS | {"out": tmp_path / "run", "on_divergence": policy, "retries": 2},
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
        **SETTINGS | {"draws": 5, "steps": 50, "out": tmp_path / "run", "on_divergence": "retry"},
        retries=8,
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
        sample(run_built, problems.PARAMS, problems.DATA, **SETTINGS, on_divergence="retry")


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
    from pxsgmcmc.chain.health import Health

    def look(health, energy, norm):
        health.check(0, 9, energy, 0.1, {"norm": {"base": norm}})

    health = Health(coordinates=100)
    look(health, 500.0, 10.0)
    look(health, 5_000.0, 10.0)
    with pytest.raises(Diverged, match="energy jumped to 6e"):
        look(health, 6e4, 10.0)
    with pytest.raises(Diverged, match="ran away to 3e"):
        look(health, 500.0, 3e4)
    recalled = Health(coordinates=100)
    recalled.recall(json.loads(json.dumps(health.memory())))
    assert recalled.largest_energy == 5_000.0 and recalled.first_norm == 10.0


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"draws": 0}, "draws"),
        ({"steps": 1.5}, "steps"),
        ({"batch_size": 49}, "batch_size"),
        ({"batch_size": 0}, "batch_size"),
        ({"seed": -1}, "seed"),
        ({"executor": "fast"}, "executor"),
        ({"keep_data": "cloud"}, "keep_data"),
        ({"on_divergence": "pray"}, "on_divergence"),
        ({"chunk_seconds": 0.0}, "chunk_seconds"),
        ({"burn_in": -3}, "burn_in"),
        ({"every": 0}, "every"),
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
    monkeypatch.setattr(sys.modules["pxsgmcmc.chain.sample"], "MOST_BYTES", 100)
    mapped = sample(
        problems.SAMPLERS["sghmc"], problems.PARAMS, data, **SETTINGS, out=tmp_path / "run"
    )
    assert open_run(tmp_path / "run").manifest["origin"]["executor"] == "loop"
    assert same(mapped, run("sghmc", executor="loop", keep_data="device"))


def test_a_chain_that_fails_to_start_frees_the_directory(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="could not be written"):
        run(out=tmp_path / "run", tensorboard=tmp_path / "file")
    assert run(out=tmp_path / "run", resume=True).status == "done"


def test_a_chain_goes_on_when_nobody_listens(monkeypatch):
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as closed:
        monkeypatch.setattr(sys, "stderr", closed)
        assert run(progress="plain").status == "done"
        with contextlib.suppress(BrokenPipeError):
            closed.close()


def test_progress_is_plain_lines_when_not_a_terminal(capsys):
    run(progress=True, label="mine")
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[-1].startswith("mine: draw 3/3, step 30/30") and "energy" in lines[-1]


def test_progress_is_a_bar_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    run(progress=True, label="mine [red]")
    shown = sys.stderr.getvalue()
    for words in ("mine [red]", "3/3", "0:00 left", "steps/s", "energy", "T[base]", "T[factors]"):
        assert words in shown


def test_event_files_stay_out_of_the_run_directory(tmp_path):
    with pytest.raises(UserError, match="`tensorboard` must be a folder outside"):
        run(out=tmp_path / "run", tensorboard=tmp_path / "run" / "events")


def test_convolutions_take_the_loop_and_the_rest_the_scan_on_a_cpu():
    from pxsgmcmc.chain.executors import choose_executor

    def conv(params, x):
        image = x.reshape(-1, 1, 3, 1)
        out = jax.lax.conv_general_dilated(
            image, params["kernel"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return out.reshape(x.shape[0], 3).sum(axis=1)

    energy = px.regression(conv, noise=1.0, data_size=48)
    convolving = px.sghmc(energy, 0.1, friction=1.0)
    state = convolving.init({"kernel": jnp.ones((1, 1, 1, 1))})
    batch = (jnp.ones((4, 3)), jnp.ones(4))
    assert choose_executor(convolving, state, batch) == "loop"
    dense = problems.SAMPLERS["sghmc"](1.0)
    assert choose_executor(dense, dense.init(problems.PARAMS), batch) == "scan"
