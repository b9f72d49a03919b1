"""Targets without data, and draws of other samplers: runs like any other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from tests.helpers.closeness import assert_close

SCALES = jnp.array([0.1, 1.0, 10.0])
TARGET = px.from_log_density(lambda q: -0.5 * jnp.sum((q["x"] / SCALES) ** 2))


def adapted(potential=TARGET):
    return px.hmc(potential, 0.1, leapfrog_steps=5, jitter=0.4, adapt=px.adaptation(60))


def start(key):
    return {"x": jax.random.normal(key, (3,))}


def go(draws, **options):
    settings = {"cycle_length": 2, "burn_in": 60, "chains": 2, "progress": False} | options
    return px.sample(adapted(), settings.pop("position", start), draws=draws, **settings)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return go(12, out=tmp_path_factory.mktemp("runs") / "whole")


def test_a_target_without_data_is_sampled_and_its_draws_are_stacked(run):
    stacked = run.stacked()
    assert stacked["x"].shape == (2, 12, 3)
    assert np.array_equal(stacked["x"][1, 0], run.chain(1)[0]["x"])
    squares = run.stacked(lambda params: jnp.sum(params["x"] ** 2))
    np.testing.assert_allclose(squares, (stacked["x"] ** 2).sum(-1), rtol=1e-6)
    assert run.acceptance.shape == run.energies.shape == (2, 12)
    assert np.all((run.acceptance > 0.0) & (run.acceptance <= 1.0))
    energies = 0.5 * ((stacked["x"] / np.asarray(SCALES)) ** 2).sum(-1)
    np.testing.assert_allclose(run.energies, energies, rtol=1e-4, atol=1e-5)


def test_chains_in_float64_keep_its_digits(in_float64):
    sampler = px.hmc(px.from_log_density(lambda q: -0.5 * jnp.sum(q**2)), 0.1, leapfrog_steps=1)
    run = px.sample(sampler, jnp.ones(2), draws=2, cycle_length=1, chains=2, progress=False)
    draws = run.stacked()
    assert draws.dtype == np.float64
    # Two squares and their sum: far more digits than float32 has.
    np.testing.assert_allclose(run.energies, 0.5 * (draws**2).sum(-1), rtol=1e-14)


def test_adaptation_that_was_stopped_in_the_middle_goes_on_bit_for_bit(run, tmp_path, monkeypatch):
    from pxsgmcmc.chain.runner import Runner

    taken = Runner._chunk

    def killed(self, *args):
        if self.chains[0].step >= 30:
            raise KeyboardInterrupt
        return taken(self, *args)

    execution = px.Execution(chunk_seconds=1e-9, checkpoint_seconds=0.0)
    monkeypatch.setattr(Runner, "_chunk", killed)
    with pytest.raises(KeyboardInterrupt):
        go(12, out=tmp_path / "run", execution=execution)
    monkeypatch.undo()
    assert 0 < int(px.open(tmp_path / "run").records[0].load_state().arrays["step"]) < 60
    again = go(12, out=tmp_path / "run", resume=True)
    assert np.array_equal(again.stacked()["x"], run.stacked()["x"])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: go(2, burn_in=59), "`burn_in` must be at least the 60 steps in which the sampler"),
        (lambda: go(2, batch_size=1), "`batch_size` must be left out where there are no data"),
        (
            lambda: px.sample(adapted(), start, jnp.zeros(3), draws=1, cycle_length=1, burn_in=60),
            "`batch_size` must say how many rows",
        ),
        (
            lambda: px.sample(
                adapted(), start, jnp.zeros(3), draws=1, cycle_length=1, burn_in=60, batch_size=3
            ),
            "`problem` must be left out",
        ),
        (
            lambda: px.sample(
                px.sgld(px.potential(lambda q, x: -((x - q) ** 2), data_size=3), 0.1),
                jnp.zeros(()),
                draws=1,
                cycle_length=1,
            ),
            "`problem` must be given",
        ),
        (
            lambda: go(2, position={"x": jnp.full(3, jnp.nan)}),
            "`apply`, or a log density of your own, turns into infinities or NaN",
        ),
        (lambda: px.from_log_density(3.0), "`log_density` must be a function"),
        (lambda: px.from_log_density(lambda q: q)(jnp.ones(2)), "one number, got shape (2,)"),
        (lambda: px.from_arrays({"a": np.zeros(3, np.float32)}), "(chains, draws)"),
        (
            lambda: px.from_arrays(np.zeros((2, 3), np.float32), energy=np.zeros(3)),
            "`energy` must have one number a draw, (2, 3), got shape (3,)",
        ),
    ],
)
def test_what_does_not_fit_is_said_in_a_sentence(call, words):
    with pytest.raises(px.UserError) as caught:
        call()
    assert words in str(caught.value)
    assert str(caught.value).endswith(".")


def linear_problem():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 2)).astype(np.float32)
    y = (x @ np.array([1.0, -1.0]) + 0.5 * rng.normal(size=12)).astype(np.float32)
    noise = px.likelihoods.gaussian(0.5)
    return px.Problem(lambda w, x: x @ w["w"], noise, train=(x, y), test=(x[:5], y[:5]))


def exact_draws(problem, shape):
    """Of the posterior with a standard normal prior, by its closed form."""
    x, y = problem.train.x.astype(float), problem.train.y[:, 0].astype(float)
    covariance = np.linalg.inv(x.T @ x / 0.25 + np.eye(2))
    mean = covariance @ x.T @ y / 0.25
    draws = np.random.default_rng(1).multivariate_normal(mean, covariance, shape)
    return {"w": draws.astype(np.float32)}


@pytest.mark.parametrize("where", ["memory", "directory"])
def test_draws_of_another_sampler_become_a_run_with_all_its_methods(where, tmp_path):
    problem = linear_problem()
    draws = exact_draws(problem, (2, 20))
    out = tmp_path / "run" if where == "directory" else None
    energy = np.random.default_rng(2).normal(size=(2, 20))
    run = px.from_arrays(draws, problem, energy=energy, method="NUTS", out=out)
    assert run.summary.startswith("40 draws of 2 chains by NUTS")
    if where == "directory":
        run = px.open(out, problem)
    assert np.array_equal(run.stacked()["w"], draws["w"])
    assert np.array_equal(run.energies, energy) and np.isnan(run.acceptance).all()
    predicted = run.predict(problem.test.x).mean[:, 0]
    expected = problem.test.x @ draws["w"].mean((0, 1))
    largest = np.abs(draws["w"]).sum(axis=-1).max() * np.abs(problem.test.x).max()
    assert_close(predicted, expected, terms=2 + 40, scale=largest)  # two products, forty draws
    assert run.evaluate().test.rows == 5
    if where == "memory":
        assert "not healthy" not in run.verdict.headline
        assert run.report(tmp_path / "report.html").stat().st_size > 10_000


def test_one_chain_and_expanded_positions_are_taken_too():
    params = {"hidden": {"kernel": jnp.ones((3, 4))}, "out": {"kernel": jnp.ones((4, 2))}}
    position = px.expand(params, px.plan(params))
    draws = jax.tree.map(lambda x: jnp.stack([x, 2.0 * x]), position)
    run = px.from_arrays(draws, one_chain=True)
    assert (run.chains, len(run)) == (1, 2)
    expected = px.collapse(jax.tree.map(lambda x: 2.0 * x, position))
    assert jax.tree.all(jax.tree.map(lambda a, b: bool(jnp.allclose(a, b)), run[1], expected))
