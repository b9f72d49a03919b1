"""`px.sghmc(U, "auto", friction="auto")`: measured once by `px.sample`, kept with the run."""

import tomllib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.tuning import sampler_settings

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 3)).astype(np.float32)
Y = np.sin(X[:, :1]) + 0.2 * RANDOM.normal(size=(120, 1)).astype(np.float32)
PARAMS = {
    "a": {"kernel": jnp.asarray(RANDOM.normal(size=(3, 4)) / 2, jnp.float32)},
    "b": {"kernel": jnp.asarray(RANDOM.normal(size=(4, 1)) / 2, jnp.float32)},
}
ASKED = {"draws": 2, "cycle_length": 30, "batch_size": 40, "progress": False}


def apply(params, x):
    return jnp.tanh(x @ params["a"]["kernel"]) @ params["b"]["kernel"]


PROBLEM = px.Problem(apply, px.likelihoods.gaussian(noise=0.3), train=(X, Y))
U = px.potential(PROBLEM)
POSITION = px.expand(PARAMS, px.plan(PARAMS, out=1, into=1))
# Of 60 steps nobody expects that they settle.
pytestmark = pytest.mark.filterwarnings("ignore::pxsgmcmc.ChainWarning")


def measured_of(sampler, **changes):
    return px.sample(sampler, POSITION, PROBLEM, **(ASKED | changes))


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    out = tmp_path_factory.mktemp("auto") / "run"
    return measured_of(px.sghmc(U, px.cyclical("auto", 30), friction="auto"), out=out)


def test_what_was_measured_is_in_the_manifest_and_the_settings(begun):
    kept = begun.origin["measured"]
    assert kept["settings"] == ["step_size", "friction"]
    assert 1e-4 < kept["step_size"] < 0.5 and set(kept["friction"]) == {"base", "factors"}
    assert kept["by"].startswith("pilot 60 steps from the start of chain 0: SGHMC: peak ")
    settings = tomllib.loads((begun.path / "config.toml").read_text())
    assert settings["sampler"]["step_size"] == kept["step_size"]
    assert settings["sampler"]["friction"] == kept["friction"]
    assert begun.origin["sampler"]["friction"] == kept["friction"]


def test_going_on_measures_nothing_and_numbers_give_the_same_draws(begun, monkeypatch):
    monkeypatch.setattr(sampler_settings, "measure_settings", None)
    auto = px.sghmc(U, px.cyclical("auto", 30), friction="auto")
    longer = measured_of(auto, draws=3, out=begun.path, resume=True)
    assert len(longer) == 3
    kept = begun.origin["measured"]
    friction = px.groups(POSITION, **kept["friction"])
    by_hand = px.sghmc(U, px.cyclical(kept["step_size"], 30), friction=friction)
    again = measured_of(by_hand, draws=3)
    for one, other in zip(longer, again, strict=True):
        assert all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(other)))
    assert len(measured_of(by_hand, draws=3, out=begun.path, resume=True)) == 3


def test_one_of_the_two_can_be_given_and_several_chains_share_what_was_measured(tmp_path):
    friction = px.groups(POSITION, base=9.0, factors=4.0)
    run = measured_of(px.sgnht(U, "auto", friction=friction), chains=2, out=tmp_path / "runs")
    assert run.origin["measured"]["settings"] == ["step_size"]
    assert run.origin["measured"]["friction"] == {"base": 9.0, "factors": 4.0}
    assert len(measured_of(px.sgnht(U, "auto", friction=friction), chains=2, draws=3,
                           out=tmp_path / "runs", resume=True)) == 6  # fmt: skip
    found = measured_of(px.sghmc(U, 1e-3, friction="auto")).origin["measured"]
    assert found["settings"] == ["friction"] and found["step_size"] == 1e-3
    langevin = measured_of(px.sgld(U, "auto")).origin
    assert langevin["measured"]["friction"] == {} and langevin["method"].startswith("PX-SGLD")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: px.sghmc(U, "auto", friction=1.0, noise=0.5), "`noise` must be 1"),
        (lambda: px.sgld(U, "auto", mass=2.0), "`mass` must be 1"),
        (lambda: px.sghmc(U, 0.1, friction="auto", temperature=0.0), "`temperature`"),
        (lambda: px.sghmc(U, "automatic", friction=1.0), "`step_size` must be"),
        (lambda: px.psgld(U, px.cyclical("auto", 5)), "px.sghmc and px.sgnht"),
        (lambda: px.sghmc(U, "auto", friction=1.0).init(POSITION), "`px.pilot"),
        (
            lambda: measured_of(px.sghmc(U, lambda step: 1e-3, friction="auto")),
            '"auto" or `px.cyclical`',
        ),
        (lambda: measured_of(lambda factor: px.sgld(U, "auto")), "is given as it is"),
        (
            lambda: px.sample(
                px.sgld(px.from_log_density(lambda q: -jnp.sum(q**2)), "auto"),
                jnp.zeros(3),
                draws=1,
                cycle_length=2,
                progress=False,
            ),
            "where there are data",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused_in_a_sentence(make, words):
    with pytest.raises(px.UserError) as caught:
        make()
    assert words in str(caught.value) and str(caught.value).endswith(".")


def test_a_run_that_began_with_numbers_is_not_measured_later(tmp_path):
    out = tmp_path / "run"
    measured_of(px.sgld(U, 1e-4), out=out)
    with pytest.raises(px.UserError, match='`step_size` cannot be "auto" here'):
        measured_of(px.sgld(U, "auto"), out=out, draws=3, resume=True)
