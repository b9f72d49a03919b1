"""Variances that fall with the fan-in, whichever framework made the parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pxsgmcmc.models import build
from pxsgmcmc.tuning.default_prior import drawn, fan_in_variances

MLP = {
    "Dense_0": {"kernel": jnp.ones((5, 7)), "bias": jnp.ones(7)},
    "Dense_1": {"kernel": jnp.ones((7, 3)), "bias": jnp.ones(3)},
}


def test_kernels_and_their_biases_have_a_number_over_the_fan_in():
    found = fan_in_variances(MLP, hidden=2.0, last=30.0)
    assert found["Dense_0"] == pytest.approx({"kernel": 2 / 5, "bias": 2 / 5})
    assert found["Dense_1"] == pytest.approx({"kernel": 30 / 7, "bias": 30 / 7})


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


def test_a_draw_has_the_variances_of_the_prior():
    shapes = {"wide": jnp.ones((100, 100)), "narrow": jnp.ones(10_000)}
    found = drawn({"wide": 4.0, "narrow": 0.25}, shapes, np.random.default_rng(0))
    for name, variance in {"wide": 4.0, "narrow": 0.25}.items():
        assert found[name].shape == shapes[name].shape
        error = np.sqrt(2.0 / 10_000)  # of the mean of as many squares
        assert abs(float(jnp.mean(found[name] ** 2)) / variance - 1.0) < 4.5 * error
