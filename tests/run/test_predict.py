"""`run.predict(x)` on a chain started from Python."""

import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.predict import predict
from tests.helpers.closeness import tolerance

X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int32)
PROBLEM = px.Problem(lambda params, x: x @ params["w"], px.likelihoods.categorical(), train=(X, Y))


def sampled(out=None, data=PROBLEM, draws=3, **more):
    sampler = px.sghmc(px.potential(PROBLEM), 0.01, friction=1.0)
    settings = {"draws": draws, "cycle_length": 4, "batch_size": 10, "out": out}
    return px.sample(sampler, {"w": jnp.zeros((3, 2))}, data, **settings, progress=False, **more)


@pytest.mark.parametrize("stored", [False, True])
def test_a_chain_that_knows_its_problem_predicts(stored, tmp_path):
    run = sampled(tmp_path / "run" if stored else None)
    found = run.predict(X, batch_size=7)
    expected = predict(PROBLEM, list(run), X)
    # Batches of another size are another program: three products and their sum in a logit.
    largest = max(np.sum(np.abs(draw["w"])) for draw in run) * np.max(np.abs(X))
    error = 2 * tolerance(terms=3, scale=largest)  # of log p: twice that of a logit
    np.testing.assert_allclose(found.probabilities, expected.probabilities, rtol=error + 1e-12)
    assert found.draws == 3


def test_one_that_was_not_told_says_what_to_do(tmp_path):
    with pytest.raises(px.UserError, match=r"needs to know the problem .* to `px\.sample`"):
        sampled(data=(X, Y)).predict(X)
    sampled(tmp_path / "run")
    with pytest.raises(px.UserError, match=r"needs to know the problem .* px\.open\('.*problem="):
        px.open(tmp_path / "run").predict(X)
    opened = px.open(tmp_path / "run", problem=PROBLEM)
    assert opened.predict(X).probabilities.shape == (20, 2)


def test_a_part_of_a_run_predicts_with_its_own_draws():
    run = sampled(draws=4)
    for part, chosen in ((run[1:3], [1, 2]), (run.skip(2), [2, 3]), (run[::2], [0, 2])):
        expected = predict(PROBLEM, [run[i] for i in chosen], X)
        np.testing.assert_array_equal(part.predict(X).probabilities, expected.probabilities)


@pytest.mark.parametrize("index", [slice(3, None), slice(2, 1), slice(0, 0), slice(9, 12, 2)])
def test_a_slice_without_draws_is_refused_in_one_sentence(index):
    with pytest.raises(IndexError, match=r"`run\[.*\]` has no draws: the run has 3, from 0 to 2"):
        sampled()[index]


def test_an_index_a_chain_or_a_skip_out_of_range_is_refused_in_one_sentence():
    run = sampled(chains=2)
    for index in (6, -7):
        with pytest.raises(px.UserError, match=rf"`run\[{index}\]` is not there: the run has 6,"):
            run[index]
    with pytest.raises(px.UserError, match="`chain` must be from 0 to 1, got 2"):
        run.chain(2)
    with pytest.raises(px.UserError, match="`skip` must be less than the 3 draws of a chain"):
        run.skip(3)
    with pytest.raises(px.UserError, match="`skip` must be a whole number of at least 0, got -1"):
        run.skip(-1)
