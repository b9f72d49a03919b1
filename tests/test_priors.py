"""Priors on the base and on the factors, against SciPy's normal density."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import pxsgmcmc as px
from pxsgmcmc.expansion import LowRank
from pxsgmcmc.tree import size
from tests.helpers.closeness import assert_close
from tests.helpers.quick_jit import quick_jit
from tests.helpers.small_network import PARAMS, random_position

pytestmark = pytest.mark.usefixtures("in_float64")
NOTHING = np.zeros(1)


def parts(position, **settings):
    U = px.potential(lambda params, batch: np.zeros(1) * batch, data_size=1, **settings)
    return quick_jit(U.parts)(position, NOTHING)


def scipy_energy(leaves, variance):
    """Minus the log density without its constant."""
    density = scipy.stats.norm(scale=np.sqrt(variance))
    return -sum(np.sum(density.logpdf(x) - density.logpdf(0.0)) for x in leaves)


def test_the_prior_stands_on_the_base_and_the_factor_prior_on_the_factors():
    position = random_position(out=2, into=1)
    found = parts(position, prior=px.priors.normal(0.02), factor_prior=px.priors.normal(0.5))
    base, factors = jax.tree.leaves(position.base), jax.tree.leaves(position.factors)
    assert float(found.likelihood) == 0.0
    assert float(found.prior) == pytest.approx(scipy_energy(base, 0.02))
    assert float(found.factor_prior) == pytest.approx(scipy_energy(factors, 0.5))


def test_defaults_are_variance_one_on_the_base_and_one_half_on_the_factors():
    position = random_position()
    found = parts(position)
    assert float(found.prior) == pytest.approx(scipy_energy(jax.tree.leaves(position.base), 1.0))
    assert float(found.factor_prior) == pytest.approx(
        scipy_energy(jax.tree.leaves(position.factors), 0.5)
    )


def test_a_variance_per_leaf_group_comes_from_patterns():
    variance = px.by_path(PARAMS, {"*/bias": 2.0, "a/*": 0.5, "*": 0.1})
    position = random_position()
    found = parts(position, prior=px.priors.normal(variance))
    base = position.base
    expected = (
        scipy_energy([base["a"]["bias"], base["b"]["bias"]], 2.0)
        + scipy_energy([base["a"]["kernel"]], 0.5)
        + scipy_energy([base["b"]["kernel"]], 0.1)
    )
    assert float(found.prior) == pytest.approx(expected)


def many_leaves(seed=0):
    """More leaves than are summed one by one, of unequal shapes."""
    rng = np.random.default_rng(seed)
    return {f"layer{i:02}": rng.normal(size=(1 + i % 3, 2 + i % 5)) for i in range(23)}


@pytest.mark.parametrize("old", [None, many_leaves(1)], ids=["energy", "difference"])
@pytest.mark.parametrize("distinct", [2, 5, 23])
def test_more_leaves_than_are_summed_one_by_one_keep_their_own_variances(distinct, old):
    leaves = many_leaves()
    variances = {name: 0.1 + 0.3 * (i * 7 % distinct) for i, name in enumerate(leaves)}
    found = px.priors.normal(variances).energy(leaves, old)
    expected = sum(scipy_energy([leaves[name]], variances[name]) for name in leaves)
    if old is not None:
        expected -= sum(scipy_energy([old[name]], variances[name]) for name in leaves)
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_more_leaves_keep_their_own_variances_where_these_are_traced():
    leaves = many_leaves()
    names = list(leaves)

    def energy(values):
        return px.priors.normal(dict(zip(names, values, strict=True))).energy(leaves)

    values = [0.1 + 0.3 * (i * 7 % 5) for i in range(len(names))]
    expected = sum(scipy_energy([leaves[n]], v) for n, v in zip(names, values, strict=True))
    assert float(quick_jit(energy)(values)) == pytest.approx(expected, rel=1e-12)


def test_a_variance_per_layer_is_a_tree_prefix():
    found = parts(PARAMS, prior=px.priors.normal({"a": 0.5, "b": 3.0}))
    expected = sum(scipy_energy(PARAMS[k].values(), v) for k, v in {"a": 0.5, "b": 3.0}.items())
    assert float(found.prior) == pytest.approx(expected)


def test_the_factor_prior_at_the_identity_is_zero_at_the_start():
    for rank in (None, 2):
        plan = px.plan(PARAMS, rank=rank)
        position = px.expand(PARAMS, plan, jax.random.key(0))
        if rank is None:
            assert (
                float(parts(position, factor_prior=px.priors.normal(0.1, at="identity"))[2]) == 0.0
            )
        zero, identity = (
            float(parts(position, factor_prior=px.priors.normal(0.5, at=at)).factor_prior)
            for at in ("zero", "identity")
        )
        assert zero - identity == pytest.approx(6 + 6)  # the trace of two 6x6 identities


@pytest.mark.parametrize("rank", [None, 2])
def test_the_factor_prior_measures_from_its_centre(rank):
    position = random_position(rank=rank)
    found = float(parts(position, factor_prior=px.priors.normal(0.3, at="identity")).factor_prior)

    def less_identity(factor):
        if isinstance(factor, LowRank):
            return [factor.diagonal - 1.0, factor.left, factor.right]
        return [factor - np.eye(len(factor))]

    factors = jax.tree.leaves(position.factors, is_leaf=lambda f: isinstance(f, LowRank))
    leaves = [leaf for factor in factors for leaf in less_identity(factor)]
    assert found == pytest.approx(scipy_energy(leaves, 0.3))


def test_factor_variances_may_differ_by_layer():
    position = random_position()
    found = parts(position, factor_prior=px.priors.normal({"a": 0.5, "b": 2.0})).factor_prior
    expected = scipy_energy(jax.tree.leaves(position.factors["a"]), 0.5) + scipy_energy(
        jax.tree.leaves(position.factors["b"]), 2.0
    )
    assert float(found) == pytest.approx(expected)


def test_no_factor_prior_is_none():
    assert float(parts(random_position(), factor_prior=None).factor_prior) == 0.0


def test_half_precision_positions_are_summed_in_float32():
    with jax.enable_x64(False):
        position = random_position(
            jax.tree.map(lambda x: x.astype(jax.numpy.bfloat16), PARAMS), dtype=jax.numpy.bfloat16
        )
        wide = jax.tree.map(lambda x: np.asarray(x, np.float32), position)
        half, single = parts(position), parts(wide)
        assert half.prior.dtype == np.float32
        for part in ("prior", "factor_prior"):  # sums of squares and a few constants
            assert_close(getattr(half, part), getattr(single, part), terms=size(position))


def test_a_normal_around_weights_is_a_normal_of_the_difference():
    weights = {"w": jnp.arange(3.0), "b": jnp.ones(2)}
    tree = {"w": jnp.arange(3.0) + 0.5, "b": jnp.zeros(2)}
    prior = px.priors.normal(0.25, at=weights)
    assert prior.name == "normal(0.25, at=...)"
    expected = (3 * 0.25 + 2 * 1.0) / (2 * 0.25)
    assert float(prior.energy(tree)) == pytest.approx(expected, rel=1e-6)
    assert float(prior.energy(weights)) == 0.0
    assert float(prior.energy(tree, weights)) == pytest.approx(expected, rel=1e-6)
    with pytest.raises(px.UserError, match="`at` must have the structure and shapes"):
        prior.energy({"w": jnp.ones(3), "b": jnp.ones(3)})
