"""`px.fit`: no settings, a healthy run, and sentences on what it cannot do."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.tuning import default_prior, lengths
from pxsgmcmc.tuning import fit as fitting


def apply(params, x):
    hidden = jnp.tanh(x @ params["a"]["kernel"] + params["a"]["bias"][None])
    return hidden @ params["b"]["kernel"] + params["b"]["bias"][None]


def make(outputs):
    def init(key):
        first, second = jax.random.split(key)
        return {
            "a": {"kernel": jax.random.normal(first, (2, 6)), "bias": jnp.zeros(6)},
            "b": {
                "kernel": jax.random.normal(second, (6, outputs)) / 3.0,
                "bias": jnp.zeros(outputs),
            },
        }

    return init


def classes(*, validation=True):
    """Two classes that a line does not separate."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(160, 2)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] + 0.3 * rng.normal(size=160) > 0).astype(np.int32)
    return px.Problem(
        apply,
        px.likelihoods.categorical(),
        train=(x[:120], y[:120]),
        validation=(x[120:], y[120:]) if validation else None,
        init=make(2),
    )


def numbers():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 2)).astype(np.float32)
    y = np.sin(x[:, :1]) + 0.1 * rng.normal(size=(100, 1)).astype(np.float32)
    return px.Problem(apply, px.likelihoods.gaussian(), train=(x, y), init=make(1))


@pytest.fixture
def short(monkeypatch):
    """Few steps: what is tested is not where they lead."""
    for name in ("APPROACH_STEPS", "WARM_STEPS"):
        monkeypatch.setattr(fitting, name, 50)
    monkeypatch.setattr(lengths, "LONGEST_CYCLE", 50)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A run of two chains, in a folder."""
    out = tmp_path_factory.mktemp("fitted") / "run"
    return px.fit(classes(), draws=10, chains=2, out=out, max_seconds=600, progress=False)


@pytest.mark.slow
def test_the_run_is_healthy_without_a_single_setting(fitted):
    # Temperatures within 10 %, or three standard errors; R-hat with a false-alarm rate of 1 %.
    assert fitted.verdict.healthy, fitted.verdict
    assert fitted.chains == 2 and len(fitted) == 20


@pytest.mark.slow
def test_it_says_what_it_chose_in_the_manifest(fitted):
    chosen = fitted.origin["fit"]
    assert chosen["last_layer"] == default_prior.LAST["classification"]
    assert chosen["step_size"] > 0.0 and chosen["friction"]["base"] > 0.0
    assert "fan-in" in chosen["choice"] and "stable to" in chosen["predicted"]
    manifest = json.loads((fitted.path / "chain-0001" / "manifest.json").read_text())
    assert json.dumps(chosen["predicted"]) in json.dumps(manifest)


@pytest.mark.slow
def test_it_predicts_better_than_the_share_of_classes(fitted):
    x, y = classes().validation
    chosen = np.asarray(fitted.predict(x).probabilities)[np.arange(len(y)), y]
    assert -np.mean(np.log(chosen)) < 0.6  # 0.69 for a coin


def test_params_of_a_network_with_learned_noise_need_no_noise_of_their_own(short):
    problem = numbers()
    run = px.fit(
        problem, make(1)(jax.random.key(3)), draws=2, chains=1, max_seconds=600, progress=False
    )
    assert set(run[0]) == {"network", "likelihood"}


def test_without_validation_rows_it_says_how_it_stops(short, capsys):
    problem = classes(validation=False)
    px.fit(problem, draws=2, chains=1, max_seconds=600, progress="plain")
    assert "no validation rows: a tenth of the training rows" in capsys.readouterr().err


def test_factors_that_are_not_at_their_temperature_are_left_out(short, monkeypatch):
    whole = fitting.approach

    def too_hot(energy, starts, **settings):
        there = whole(energy, starts, **settings)
        expanded = isinstance(starts[0], px.Expanded)
        return fitting.dataclasses.replace(there, healthy=not expanded)

    monkeypatch.setattr(fitting, "approach", too_hot)
    run = px.fit(classes(), draws=2, chains=1, max_seconds=600, progress=False)
    assert run.origin["fit"]["expanded"] is False
    assert "not expanded" in run.origin["fit"]["choice"]


def test_nothing_that_does_not_diverge_is_said_in_a_sentence(short, monkeypatch):
    def diverge(*arguments, **settings):
        raise px.Diverged("energy is not finite")

    monkeypatch.setattr(fitting, "approach", diverge)
    with pytest.raises(px.Diverged, match="`fit` found no step size"):
        px.fit(classes(), draws=2, chains=1, max_seconds=600, progress=False)


def test_without_time_to_try_factors_it_goes_without_them_and_says_so(short, monkeypatch):
    monkeypatch.setattr(fitting, "EXPANSION", 0.0)
    run = px.fit(classes(), draws=2, chains=1, max_seconds=600, progress=False)
    assert run.origin["fit"]["expanded"] is False
    assert "no time to try" in run.origin["fit"]["choice"]


def test_too_little_time_is_said_with_how_much_would_do():
    with pytest.raises(px.UserError, match=r"`max_seconds` .* got 0.001; try 30"):
        px.fit(classes(), draws=2, chains=1, max_seconds=0.001, progress=False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"problem": "digits"}, "`problem`"),
        ({"params": make(2)}, "`params` must be a tree of arrays"),
        ({"params": {"a": "text"}}, "`params`"),
        ({"params": {"a": jnp.arange(3)}}, "`params`"),
        ({"draws": 0}, "`draws`"),
        ({"chains": 0}, "`chains`"),
        ({"seed": -1}, "`seed`"),
        ({"max_seconds": 0}, "`max_seconds`"),
        ({"max_seconds": "long"}, "`max_seconds`"),
    ],
)
def test_bad_arguments_are_named_before_anything_is_run(change, words):
    arguments = {"problem": classes(), "progress": False} | change
    with pytest.raises(px.UserError, match=words):
        px.fit(arguments.pop("problem"), arguments.pop("params", None), **arguments)


def test_a_problem_that_cannot_begin_says_so():
    known = classes()
    with pytest.raises(px.UserError, match="`init`"):
        px.fit(px.Problem(apply, known.likelihood, train=known.train), progress=False)


def test_a_folder_in_use_is_refused_before_long_work(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(px.UserError, match="`out` must be a folder that is empty"):
        px.fit(classes(), out=tmp_path, progress=False)


@pytest.mark.parametrize(
    ("value", "rounded"), [(0.2, 1), (1, 1), (4.9, 3), (5, 5), (99, 70), (1234, 1000)]
)
def test_lengths_are_round_numbers(value, rounded):
    assert lengths.round_number(value) == rounded
