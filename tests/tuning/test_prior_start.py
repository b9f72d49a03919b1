"""Starts that are draws of the default prior."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2

import pxsgmcmc as px
from pxsgmcmc.expansion import Expanded, expand, plan
from pxsgmcmc.tuning.default_prior import LAST, default_prior
from pxsgmcmc.tuning.engine.prior_start import drawn_from_prior
from pxsgmcmc.tuning.engine.programs import FACTOR_VARIANCE

FALSE_ALARM = 1e-6  # of each variance, two-sided: of eight in this file 1e-5 in all
SIZES = (4, 30, 20, 3)


def apply(params, x):
    for n in range(3):
        layer = params[f"layer{n}"]
        x = jnp.tanh(x @ layer["kernel"] + layer["bias"][None])
    return x


def ones():
    return {
        f"layer{n}": {"kernel": jnp.ones((a, b)), "bias": jnp.ones(b)}
        for n, (a, b) in enumerate(itertools.pairwise(SIZES))
    }


def problem_of(likelihood, y):
    return px.Problem(apply, likelihood, train=(np.zeros((6, 4), np.float32), y))


CLASSES = problem_of(px.likelihoods.categorical(), np.array([0, 1, 2, 0, 1, 2], np.int32))


def drawn(seed=0, problem=CLASSES, factors=1):
    params = ones()
    like = expand(params, plan(params, out=factors, into=factors)) if factors else params
    prior = default_prior(problem, LAST[problem.likelihood.task])
    return drawn_from_prior(problem, prior, like, jax.random.key(seed))


def assert_variance(values, variance):
    """Of independent normals around zero, exactly."""
    low, high = chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], values.size) / values.size
    assert low < np.mean(np.square(values, dtype=np.float64)) / variance < high


def test_weights_and_factors_have_the_variances_of_their_prior():
    several = [drawn(seed) for seed in range(20)]
    assert all(isinstance(one, Expanded) for one in several)

    def all_of(leaf_of):
        return np.concatenate([np.ravel(leaf_of(one)) for one in several])

    for name, fan_in in (("layer0", 4), ("layer1", 30)):
        assert_variance(all_of(lambda one, n=name: one.base[n]["kernel"]), 2.0 / fan_in)
        assert_variance(all_of(lambda one, n=name: one.base[n]["bias"]), 2.0)

    def off_identity(one):
        leaves = jax.tree.leaves(one.factors)
        return np.concatenate([np.ravel(leaf - np.eye(len(leaf))) for leaf in leaves])

    assert_variance(all_of(off_identity), FACTOR_VARIANCE)


def test_the_last_layer_begins_at_zero():
    last = drawn().base["layer2"]
    assert not last["kernel"].any() and not last["bias"].any()


def test_each_key_has_a_draw_of_its_own_and_no_other():
    leaves = [jax.tree.leaves(drawn(seed)) for seed in (0, 0, 1)]
    assert all(map(np.array_equal, leaves[0], leaves[1]))
    assert not np.array_equal(leaves[0][1], leaves[2][1])


@pytest.mark.parametrize("factors", [0, 1])
def test_structure_shapes_and_types_are_kept(factors):
    params = ones()
    like = expand(params, plan(params, out=1, into=1)) if factors else params
    found = drawn(factors=factors)
    assert jax.tree.structure(found) == jax.tree.structure(like)
    same = jax.tree.map(lambda a, b: a.shape == b.shape and a.dtype == b.dtype, found, like)
    assert all(jax.tree.leaves(same))


def test_parameters_of_the_likelihood_begin_where_it_says():
    y = np.arange(18, dtype=np.float32).reshape(6, 3)
    problem = problem_of(px.likelihoods.gaussian(), y)
    params = problem.start(ones())
    prior = default_prior(problem, LAST["regression"])
    found = drawn_from_prior(problem, prior, params, jax.random.key(0))
    own = jax.tree.leaves(found["likelihood"]), jax.tree.leaves(params["likelihood"])
    assert own[0] and all(map(np.array_equal, *own))
    assert not found["network"]["layer2"]["kernel"].any()
