"""`px.fit`: no settings, a healthy run, and sentences on what it cannot do."""

import inspect
import json
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.chain.divergence import ADVICE
from pxsgmcmc.tuning import default_prior, lengths
from pxsgmcmc.tuning.fit import REMEDIES

fitting = sys.modules["pxsgmcmc.tuning.fit"]  # the package has a function of that name


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


@pytest.fixture(scope="module")
def told():
    """What a callback was told of `fitted`."""
    return []


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, told):
    """A run of two chains, in a folder."""
    out = tmp_path_factory.mktemp("fitted") / "run"
    options = {"max_seconds": 1e6, "progress": False, "callbacks": [told.append]}
    return px.fit(classes(), draws=10, chains=2, out=out, **options)


def test_callbacks_are_told_every_draw_of_every_chain(fitted, told):
    draws = [(event.chain, event.number) for event in told if event.kind == "draw"]
    assert sorted(draws) == [(chain, n) for chain in (0, 1) for n in range(1, 11)]
    energies = [event.facts["energy"] for event in told if event.kind == "draw"]
    assert sorted(energies) == sorted(fitted.energies.ravel())


def test_nothing_is_wrong_with_a_run_without_a_single_setting(fitted):
    # Temperatures within 10 %, or three standard errors; R-hat with a false-alarm rate of 1 %.
    # Twenty draws may be too few to call it settled, which depends on the last bits.
    assert fitted.verdict.healthy is not False, fitted.verdict
    assert fitted.chains == 2 and len(fitted) == 20


def test_it_says_what_it_chose_in_the_manifest(fitted):
    chosen = fitted.origin["fit"]
    assert chosen["last_layer"] == default_prior.LAST["classification"]
    assert chosen["step_size"] > 0.0 and chosen["friction"]["base"] > 0.0
    assert "stability limit" in chosen["found"] and fitted.origin["method"].startswith("PX-SGHMC")
    manifest = json.loads((fitted.path / "chain-0001" / "manifest.json").read_text())
    assert manifest["origin"]["fit"] == chosen
    assert "fan-in on the last layer" in manifest["origin"]["prior"]


def test_the_run_directory_is_one_like_any_other(fitted):
    again = px.open(fitted.path, classes())
    x = classes().validation.x
    same = np.asarray(again.predict(x).probabilities) == np.asarray(fitted.predict(x).probabilities)
    assert same.all() and again.chains == 2


@pytest.mark.slow
def test_more_draws_go_on_bit_for_bit_as_if_asked_for_at_once(tmp_path):
    asked = {"chains": 2, "max_seconds": 1e6, "progress": False}
    at_once = px.fit(classes(), draws=3, **asked)
    px.fit(classes(), draws=2, out=tmp_path / "run", **asked)
    longer = px.fit(classes(), draws=3, out=tmp_path / "run", resume=True, **asked)
    for one, other in zip(at_once, longer, strict=True):
        assert all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(other)))
    with pytest.raises(px.UserError, match="got other seed"):
        px.fit(classes(), draws=3, out=tmp_path / "run", resume=True, seed=1, **asked)
    with pytest.raises(px.UserError, match=r"`chains` must be 2, as the run .* got 3"):
        px.fit(classes(), draws=3, out=tmp_path / "run", resume=True, **{**asked, "chains": 3})
    with pytest.raises(px.UserError, match=r"`out` holds a run already.*`resume=True`"):
        px.fit(classes(), draws=3, out=tmp_path / "run", **asked)


def image_classes():
    """Rows of 6 x 6 pixels, bright on the left or on the right, for a convolution."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=80).astype(np.int32)
    x = rng.normal(size=(80, 6, 6, 1)).astype(np.float32)
    x[:, :, :3] += 2.0 * y[:, None, None, None]
    x[:, :, 3:] += 2.0 * (1 - y[:, None, None, None])
    model = px.models.build("cnn", widths=(2,), classes=2)
    return px.Problem(
        model.apply,
        px.likelihoods.categorical(),
        train=(x, y),
        augment=lambda key, x: x + 0.1 * jax.random.normal(key, x.shape),
        init=lambda key: model.init(key, jax.ShapeDtypeStruct((1, 6, 6, 1), jnp.float32)),
    )


@pytest.mark.slow
def test_networks_with_convolutions_run_chain_by_chain_on_batches_also_augmented_ones(monkeypatch):
    monkeypatch.setattr(lengths, "LONGEST", 20)  # where long chains lead is not tested here
    problem = image_classes()
    run = px.fit(problem, draws=5, chains=2, max_seconds=1e6, progress=False)
    assert run.origin["batch_size"] == 50
    assert run.origin["executor"] == ("loop" if jax.default_backend() == "cpu" else "vmap")
    p = np.asarray(run.predict(problem.train.x).probabilities)
    assert np.mean(p.argmax(axis=1) == problem.train.y) > 0.9


def test_it_predicts_better_than_the_share_of_classes(fitted):
    x, y = classes().validation
    chosen = np.asarray(fitted.predict(x).probabilities)[np.arange(len(y)), y]
    assert -np.mean(np.log(chosen)) < 0.6  # 0.69 for a coin


def test_params_of_a_network_with_learned_noise_need_no_noise_of_their_own():
    problem = numbers()
    run = px.fit(
        problem, make(1)(jax.random.key(3)), draws=2, chains=1, max_seconds=1e6, progress=False
    )
    assert set(run[0]) == {"network", "likelihood"}


def test_a_network_without_finite_outputs_is_said_in_a_sentence():
    known = classes()

    def broken(params, x):
        return apply(params, x) + jnp.nan

    problem = px.Problem(broken, known.likelihood, train=known.train, init=make(2))
    with pytest.raises(px.UserError, match="energy is not finite before the first step"):
        px.fit(problem, draws=2, chains=1, progress=False)


def test_too_little_time_ends_with_a_warning_that_says_what_to_do():
    with pytest.warns(px.ChainWarning, match="`max_seconds` cut the chains short: give"):
        px.fit(classes(), draws=10, chains=2, max_seconds=0.001, progress=False)


def test_what_fit_advises_are_arguments_that_it_has(monkeypatch):
    def diverge(*_):
        raise px.Diverged(f"The energy is not finite. {ADVICE}")

    monkeypatch.setattr(fitting, "run_chains", diverge)
    with pytest.raises(px.Diverged) as diverged:
        px.fit(classes(), progress=False)
    words = [str(diverged.value), *REMEDIES]
    named = {name for text in words for name in re.findall(r"`(\w+)`", text)}
    assert named <= {*inspect.signature(px.fit).parameters} and "seed" in named


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
        ({"callbacks": print}, "`callbacks` must be a list"),
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
    ("value", "rounded"),
    [(0.2, 1), (1, 1), (4.9, 4), (10, 10), (11.9, 11), (99, 90), (1000, 1000), (1234, 1200)],
)
def test_lengths_are_round_numbers(value, rounded):
    assert lengths.round_number(value) == rounded
