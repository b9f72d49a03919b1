"""`step_size = "auto"`, `friction = "auto"` and `start = "map"` in a configuration."""

import json
import tomllib

import jax
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.config import parse_config
from pxsgmcmc.config.build import build
from pxsgmcmc.config.run_config import run_config, settings_digest
from pxsgmcmc.tuning import automatic, warm_start
from pxsgmcmc.tuning.automatic import measured_config
from tests.helpers.cli_calls import assert_one_line, call

CONFIG = """
[data]
name = "wine"
[model]
name = "mlp"
widths = [4]
activation = "tanh"
[expansion]
out = 1
into = 1
[prior]
variance = 0.2
[sampler]
{sampler}
[chain]
draws = 2
cycle_length = 20
batch_size = 60
{more}
"""
BOTH = 'name = "sghmc"\nstep_size = "auto"\nfriction = "auto"'
CYCLICAL = 'name = "sghmc"\nstep_size = { kind = "cyclical", peak = "auto" }\nfriction = "auto"'
STEP_ONLY = 'name = "sghmc"\nstep_size = "auto"\nfriction = 20.0'
FRICTION_ONLY = 'name = "sghmc"\nstep_size = 1e-3\nfriction = "auto"'
THERMOSTAT = 'name = "sgnht"\nstep_size = "auto"\nfriction = "auto"'
LANGEVIN = 'name = "sgld"\nstep_size = "auto"'


def text_of(sampler=BOTH, more=""):
    return CONFIG.format(sampler=sampler, more=more)


def write(folder, sampler=BOTH, more=""):
    path = folder / "own.toml"
    path.write_text(text_of(sampler, more))
    return str(path)


def forbid(monkeypatch):
    """Nothing may be measured or warmed up from now on."""

    def refuse(*arguments, **settings):
        raise AssertionError("measured again")

    for name in ("pilot_along", "settle"):
        monkeypatch.setattr(automatic, name, refuse)
    monkeypatch.setattr(warm_start, "warm_start", refuse)


@pytest.mark.parametrize(
    ("sampler", "settings"),
    [
        (BOTH, ("sampler.step_size", "sampler.friction")),
        (CYCLICAL, ("sampler.step_size.peak", "sampler.friction")),
        (FRICTION_ONLY, ("sampler.friction",)),
        pytest.param(STEP_ONLY, ("sampler.step_size",), marks=pytest.mark.slow),
        pytest.param(THERMOSTAT, ("sampler.step_size", "sampler.friction"), marks=pytest.mark.slow),
        pytest.param(LANGEVIN, ("sampler.step_size",), marks=pytest.mark.slow),
    ],
)
def test_auto_becomes_a_number_that_the_law_calls_honest(sampler, settings):
    config = measured_config(build(parse_config(text_of(sampler))))
    assert config.measured is not None and config.measured.settings == settings
    step_size = config.sampler.step_size
    assert 1e-5 < getattr(step_size, "peak", step_size) < 0.2
    friction = getattr(config.sampler, "friction", None)
    if "sampler.friction" in settings:
        assert friction.base > 0.0 and friction.factors > 0.0
    else:
        assert friction in (None, 20.0)
    assert "pilot 40 steps from the start of chain 0" in config.measured.by
    assert " T " in config.measured.by and "unstable" not in config.measured.by


def test_without_expansion_friction_is_one_number():
    plain = text_of().replace("out = 1\ninto = 1", "out = 0\ninto = 0")
    assert isinstance(measured_config(build(parse_config(plain))).sampler.friction, float)


def test_a_run_keeps_what_it_measured_and_does_not_measure_again(tmp_path, monkeypatch):
    config, out = parse_config(text_of(more='start = "map"')), tmp_path / "run"
    first = run_config(config, out, progress=False)
    kept = tomllib.loads((out / "config.toml").read_text())
    assert kept["sampler"]["step_size"] > 0.0 and kept["sampler"]["friction"]["base"] > 0.0
    assert kept["measured"]["settings"] == ["sampler.step_size", "sampler.friction"]
    manifest = json.loads((out / "manifest.json").read_text())
    assert json.dumps(kept["measured"]["by"]) in json.dumps(manifest)
    assert first.origin["measured"]["by"] == kept["measured"]["by"]
    forbid(monkeypatch)
    longer = run_config(config, out, draws=4, resume=True, progress=False)
    assert len(longer) == 4
    opened = px.open(out)
    assert len(opened) == 4


def test_what_a_run_kept_gives_the_same_draws_without_measuring(tmp_path, monkeypatch):
    config = parse_config(text_of())
    first = run_config(config, tmp_path / "a", progress=False)
    resolved = parse_config((tmp_path / "a" / "config.toml").read_text())
    forbid(monkeypatch)
    again = run_config(resolved, tmp_path / "b", progress=False)
    for one, other in zip(jax.tree.leaves(first[-1]), jax.tree.leaves(again[-1]), strict=True):
        assert np.array_equal(one, other)


def test_where_numbers_come_from_does_not_tell_runs_apart():
    plain = parse_config(text_of('name = "sghmc"\nstep_size = 1e-3\nfriction = 5.0'))
    noted = text_of('name = "sghmc"\nstep_size = 1e-3\nfriction = 5.0')
    noted += '\n[measured]\nsettings = ["sampler.step_size"]\nby = "pilot"\n'
    assert settings_digest(parse_config(noted)) == settings_digest(plain)


@pytest.mark.slow
def test_several_chains_share_what_was_measured_once_for_chain_0(tmp_path, monkeypatch):
    path, out = write(tmp_path), tmp_path / "runs"
    assert call("run", path, "--chains", "2", "--out", str(out)).code == 0
    texts = [(out / f"chain-000{chain}" / "config.toml").read_text() for chain in (0, 1)]
    sections = [tomllib.loads(text)["sampler"] for text in texts]
    assert sections[0] == sections[1] and sections[0]["step_size"] > 0.0
    alone = measured_config(build(parse_config(text_of(), ["--chains", "2"])))
    assert sections[0]["step_size"] == alone.sampler.step_size
    forbid(monkeypatch)
    more = ("--chains", "2", "--chain.draws", "3", "--resume")
    assert call("run", path, *more, "--out", str(out)).code == 0
    assert len(px.open(out)) == 6


def test_a_warm_start_is_another_for_each_chain_and_the_same_for_each_seed():
    config = parse_config(text_of('name = "sgld"\nstep_size = 1e-4', 'start = "map"'))
    starts = [build(config).position(chain) for chain in (0, 0, 1)]
    first, again, other = (np.asarray(jax.tree.leaves(px.collapse(s))[1]) for s in starts)
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_a_warm_start_fits_better_than_a_random_one():
    sampler = 'name = "sgld"\nstep_size = 1e-4'
    energies = []
    for start in ("map", "random"):
        built = build(parse_config(text_of(sampler, f'start = "{start}"')))
        data = tuple(built.problem.train)
        energies.append(float(built.potential.parts(built.position(0), data).likelihood))
    assert energies[0] < 0.5 * energies[1]


@pytest.mark.parametrize(
    ("sampler", "words"),
    [
        ('name = "psgld"\nstep_size = { kind = "cyclical", peak = "auto" }', "'psgld'"),
        (BOTH + "\ntemperature = 0.0", "temperature"),
        (BOTH + "\nnoise = 0.5", "sampler.noise"),
        ('name = "sghmc"\nstep_size = "automatic"\nfriction = 1.0', "sampler.step_size"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_a_sentence(sampler, words):
    with pytest.raises(px.UserError, match=words):
        parse_config(text_of(sampler))


def test_a_step_size_that_no_friction_makes_honest_is_refused_with_one_that_is():
    config = parse_config(text_of('name = "sghmc"\nstep_size = 5.0\nfriction = "auto"'))
    with pytest.raises(px.UserError, match=r"`sampler.step_size` .* got 5; one of 0\.\d+ is"):
        measured_config(build(config))


def test_frozen_factors_are_not_measured(tmp_path):
    said = call("run", write(tmp_path), "--expansion.frozen", "true", "--out", str(tmp_path / "x"))
    assert_one_line(said, 2, "expansion.frozen")


def test_the_pilot_prints_its_table_for_a_configuration_that_says_auto(tmp_path):
    said = call("pilot", write(tmp_path))
    assert said.code == 0 and "SGHMC: step size" in said.out and "as configured" not in said.out
