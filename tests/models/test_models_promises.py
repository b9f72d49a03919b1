"""What every network promises; a new one joins by one line."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc import models
from pxsgmcmc.tree import paths
from tests.helpers.closeness import assert_close
from tests.helpers.quick_jit import quick_jit

SETTINGS = {
    "resnet_frn": {"depth": 8, "width": 4},
    "mlp": {"widths": (12, 9), "activation": "tanh"},
    "cnn": {"widths": (4, 6)},
    "vit": {"patch": 4, "width": 12, "depth": 1, "heads": 3},
}


@pytest.fixture(scope="module", params=list(SETTINGS))
def network(request):
    """The model, parameters, five images, and the compiled forward pass."""
    model = models.build(request.param, classes=10, **SETTINGS[request.param])
    x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 8, 8, 1)), jnp.float32)
    return model, model.init(jax.random.key(1), x), x, jax.jit(model.apply)


def test_every_network_is_among_the_settings():
    assert tuple(SETTINGS) == models.NAMES


def test_gives_a_row_of_logits_an_image(network):
    _, params, x, apply = network
    logits = apply(params, x)
    assert logits.shape == (5, 10) and logits.dtype == jnp.float32
    assert np.all(np.isfinite(logits))


def test_images_do_not_see_each_other(network):
    _, params, x, apply = network
    reordered = apply(params, np.asarray(x)[::-1])
    # One program, but which rows a block of it takes together may decide the order of its sums.
    assert_close(np.asarray(apply(params, x))[::-1], reordered, terms=1000)


def test_parameters_are_nested_dicts_that_their_names_rebuild(network):
    _, params, _, _ = network
    rebuilt: dict = {}
    for name, leaf in zip(paths(params), jax.tree.leaves(params), strict=True):
        *parents, last = name.split("/")
        inner = rebuilt
        for parent in parents:
            inner = inner.setdefault(parent, {})
        inner[last] = leaf
    assert jax.tree.structure(rebuilt) == jax.tree.structure(params)


def test_same_key_same_start_other_key_other_start(network):
    model, params, x, _ = network
    same, other = model.init(jax.random.key(1), x), model.init(jax.random.key(2), x)
    assert jax.tree.all(jax.tree.map(np.array_equal, params, same))
    kernels = [name.endswith("kernel") for name in paths(params)]
    differ = [
        not np.array_equal(a, b)
        for a, b in zip(*map(jax.tree.leaves, (params, other)), strict=True)
    ]
    assert all(d for d, kernel in zip(differ, kernels, strict=True) if kernel)


def test_the_start_does_not_depend_on_the_values_or_number_of_examples(network):
    model, params, x, _ = network
    again = model.init(jax.random.key(1), jax.ShapeDtypeStruct((99, *x.shape[1:]), jnp.float32))
    assert jax.tree.all(jax.tree.map(np.array_equal, params, again))


def test_a_second_model_of_the_same_settings_takes_the_parameters(network):
    model, params, x, apply = network
    twin = models.build(model.name, classes=10, **SETTINGS[model.name])
    assert np.array_equal(jax.jit(twin.apply)(params, x), apply(params, x))


def test_recognition_finds_all_layers_and_the_ends_the_model_names(network):
    model, params, _, _ = network
    plan = px.plan(params)
    assert plan.untouched == ()
    notes = {row.note: row.layer.name for row in plan.layers if row.note}
    assert notes == {"input": model.input_layer, "logits": model.logits_layer}
    named = px.plan(params, input_layer=model.input_layer, logits_layer=model.logits_layer)
    assert str(named) == str(plan)


@pytest.fixture(scope="module")
def expanded(network):
    """Collapsed parameters, and the largest gradient of the log-likelihood in each leaf."""
    model, params, x, _ = network
    position = px.expand(params, px.plan(params, out=2, into=1))

    def loss(position):
        collapsed = px.collapse(position)
        return -jnp.sum(jax.nn.log_softmax(model.apply(collapsed, x))[:, 3]), collapsed

    @quick_jit
    def differentiate(position):
        grad, collapsed = jax.grad(loss, has_aux=True)(position)
        return collapsed, jax.tree.map(lambda leaf: jnp.max(jnp.abs(leaf)), grad)

    collapsed, largest = differentiate(position)
    return collapsed, dict(zip(paths(position), map(float, jax.tree.leaves(largest)), strict=True))


def test_expanded_at_the_identity_it_is_the_same_network_bit_for_bit(network, expanded):
    _, params, x, apply = network
    collapsed, _ = expanded
    assert jax.tree.all(jax.tree.map(np.array_equal, collapsed, params))
    assert np.array_equal(apply(collapsed, x), apply(params, x))


def test_gradients_reach_every_factor_and_every_base_parameter(expanded):
    _, largest = expanded
    assert sum(name.startswith("factors/") for name in largest) > 4
    still = [name for name, size in largest.items() if size < 1e-6]
    # A softmax over places does not see what all keys have in common.
    assert still in ([], ["base/block1/attention/key/bias"])


def test_computes_in_the_dtype_of_its_parameters(network):
    model, params, x, _ = network
    half = jax.tree.map(lambda p: jax.ShapeDtypeStruct(p.shape, jnp.bfloat16), params)
    with jax.numpy_dtype_promotion("standard"):  # Flax's layer norm widens half precision
        assert jax.eval_shape(model.apply, half, x).dtype == jnp.bfloat16


def test_a_model_cannot_be_changed(network):
    with pytest.raises(dataclasses.FrozenInstanceError):
        network[0].name = "other"
