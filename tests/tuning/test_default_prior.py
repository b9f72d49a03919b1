"""Variances that fall with the fan-in, whichever framework made the parameters."""

import itertools

import jax
import jax.numpy as jnp
import pytest

from pxsgmcmc.models import build
from pxsgmcmc.tuning.default_prior import FanIn, fan_in_variances

MLP = {
    "Dense_0": {"kernel": jnp.ones((5, 7)), "bias": jnp.ones(7)},
    "Dense_1": {"kernel": jnp.ones((7, 3)), "bias": jnp.ones(3)},
}


def test_kernels_and_their_biases_have_a_number_over_the_fan_in():
    found = fan_in_variances(MLP, hidden=2.0, last=30.0)
    assert found["Dense_0"] == pytest.approx({"kernel": 2 / 5, "bias": 2 / 5})
    assert found["Dense_1"] == pytest.approx({"kernel": 30 / 7, "bias": 30 / 7})


def test_hidden_biases_may_have_a_variance_of_their_own():
    found = fan_in_variances(MLP, hidden=2.0, last=30.0, bias=3.0)
    assert found["Dense_0"] == pytest.approx({"kernel": 2 / 5, "bias": 3.0})
    assert found["Dense_1"] == pytest.approx({"kernel": 30 / 7, "bias": 30 / 7})


def test_the_last_layer_is_known_by_its_outputs_where_there_are_as_many_as_inputs():
    sizes = (2, 6, 6, 2)
    square = {
        f"layer{n}": {"kernel": jnp.ones((into, out)), "bias": jnp.ones(out)}
        for n, (into, out) in enumerate(itertools.pairwise(sizes))
    }
    found = fan_in_variances(square, hidden=2.0, last=30.0, outputs=2)
    assert [found[name]["kernel"] for name in square] == pytest.approx([2 / 2, 2 / 6, 30 / 6])


def test_vectors_of_norms_have_variance_one():
    shapes = MLP | {"norm": {"scale": jnp.ones(7), "bias": jnp.ones(7)}}
    assert fan_in_variances(shapes)["norm"] == {"scale": 1.0, "bias": 1.0}


def test_convolutions_count_their_window():
    model = build("cnn", widths=(4, 6), classes=10)
    shapes = jax.eval_shape(
        lambda: model.init(jax.random.key(0), jax.ShapeDtypeStruct((1, 8, 8, 1), jnp.float32))
    )
    variances = jax.tree.leaves(fan_in_variances(shapes))
    for leaf, variance in zip(jax.tree.leaves(shapes), variances, strict=True):
        if leaf.ndim == 4:
            height, width, into, _ = leaf.shape
            assert variance == pytest.approx(2.0 / (height * width * into))


def test_equinox_keeps_inputs_on_the_last_axis():
    equinox = pytest.importorskip("equinox")
    layer = equinox.nn.MLP(5, 3, 7, 1, key=jax.random.key(0))
    params = equinox.filter(layer, equinox.is_inexact_array)
    found = fan_in_variances(params, hidden=2.0, last=30.0)
    assert found.layers[0].weight == pytest.approx(2 / 5)
    assert found.layers[1].weight == pytest.approx(30 / 7)


def test_a_leaf_that_no_rule_knows_counts_all_axes_but_the_last():
    assert fan_in_variances({"mine": jnp.ones((4, 6))}, hidden=2.0)["mine"] == pytest.approx(0.5)


def test_the_prior_of_any_network_is_the_normal_of_these_variances_also_for_a_traced_scale():
    variances = fan_in_variances(MLP, last=30.0)
    right = sum(
        float(jnp.sum(leaf**2)) / (2.0 * v)
        for leaf, v in zip(jax.tree.leaves(MLP), jax.tree.leaves(variances), strict=True)
    )
    # Sums of some 70 numbers of size 1 in float32.
    assert float(FanIn(30.0, 3).energy(MLP)) == pytest.approx(right, rel=1e-5)
    traced = jax.jit(lambda last: FanIn(last, 3).energy(MLP))(jnp.float32(30.0))
    assert float(traced) == pytest.approx(right, rel=1e-5)
