import sys

import jax
import jax.numpy as jnp
import pytest

from pxsgmcmc import models
from pxsgmcmc.errors import UserError


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("resnet", {}, ["no model 'resnet'", "resnet_frn, mlp, cnn, vit"]),
        (3, {}, ["no model 3"]),
        ("resnet_frn", {"dpeth": 8}, ["no setting 'dpeth'", "depth, width, classes"]),
        ("resnet_frn", {"depth": 10}, ["`depth`", "6 n + 2", "got 10"]),
        ("resnet_frn", {"depth": 2}, ["`depth`", "at least 8", "got 2"]),
        ("resnet_frn", {"depth": 20.0}, ["`depth`", "whole number", "got 20.0"]),
        ("resnet_frn", {"width": 0}, ["`width`", "at least 1", "got 0"]),
        ("resnet_frn", {"classes": 0}, ["`classes`", "at least 1", "got 0"]),
        ("resnet_frn", {"head_init": "zero"}, ["`head_init`", "lecun, he", "'zero'"]),
        ("mlp", {"widths": 64}, ["`widths`", "list", "got 64"]),
        ("mlp", {"widths": (64, 0)}, ["`widths[1]`", "at least 1", "got 0"]),
        ("mlp", {"activation": "sigmoid"}, ["`activation`", "swish, relu", "'sigmoid'"]),
        ("mlp", {"activation": ["relu"]}, ["`activation`", "['relu']"]),
        ("mlp", {"classes": True}, ["`classes`", "got True"]),
        ("cnn", {"widths": ()}, ["`widths`", "at least 1", "got ()"]),
        ("vit", {"heads": 5}, ["`heads`", "divide", "32", "got 5"]),
        ("vit", {"patch": 0}, ["`patch`", "at least 1", "got 0"]),
    ],
)
def test_bad_settings_are_named_in_one_sentence(name, settings, words):
    with pytest.raises(UserError) as error:
        models.build(name, **settings)
    assert_sentence(error, words)


@pytest.mark.parametrize(
    ("name", "shape", "words"),
    [
        ("resnet_frn", (8, 8, 1), ["(batch, height, width, channels)", "(batch, 8, 1)"]),
        ("resnet_frn", (2, 64), ["(batch, height, width, channels)", "(batch, 64)"]),
        ("resnet_frn", (2, 0, 8, 1), ["(batch, 0, 8, 1)"]),
        ("cnn", (2, 8, 8, 1, 1), ["(batch, 8, 8, 1, 1)"]),
        ("vit", (2, 8, 8), ["(batch, 8, 8)"]),
        ("vit", (2, 7, 8, 1), ["`patch` = 2", "(7, 8)"]),
        ("mlp", (8,), ["batch axis", "(8,)"]),
        ("mlp", (), ["batch axis", "()"]),
    ],
)
def test_inputs_of_the_wrong_shape_are_named_by_init_and_by_apply(name, shape, words):
    model = models.build(name)
    with pytest.raises(UserError) as error:
        model.init(jax.random.key(0), jnp.zeros(shape))
    assert_sentence(error, words)
    with pytest.raises(UserError) as error:
        model.apply({}, jnp.zeros(shape))
    assert_sentence(error, words)


def test_raw_pixels_are_refused():
    model = models.build("cnn")
    with pytest.raises(UserError) as error:
        model.apply({}, jnp.zeros((2, 8, 8, 1), jnp.uint8))
    assert_sentence(error, ["`x`", "uint8", "normalise"])


def test_parameters_of_another_network_are_refused():
    params = jax.eval_shape(models.build("mlp").init, jax.random.key(0), jnp.zeros((2, 64)))
    with pytest.raises(UserError) as error:
        models.build("cnn").apply(params, jnp.zeros((2, 8, 8, 1)))
    assert_sentence(error, ["`params`", "structure", "cnn"])


def test_parameters_for_another_image_size_are_named():
    model = models.build("mlp")
    params = jax.eval_shape(model.init, jax.random.key(0), jnp.zeros((2, 64)))
    with pytest.raises(UserError) as error:
        model.apply(params, jnp.zeros((2, 8, 8, 3)))
    assert_sentence(error, ["'layer1/kernel'", "(192, 64)", "(64, 64)", "(8, 8, 3)"])


@pytest.mark.parametrize("name", models.NAMES)
def test_without_flax_the_message_names_the_extra(name, monkeypatch):
    for module in [m for m in sys.modules if m.startswith("pxsgmcmc.models.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "flax", None)
    with pytest.raises(UserError) as error:
        models.build(name)
    assert_sentence(error, [repr(name), "pip install 'pxsgmcmc[flax]'"])


def test_lists_from_a_file_do_as_well_as_tuples():
    shapes = [
        jax.eval_shape(models.build("mlp", widths=w).init, jax.random.key(0), jnp.zeros((1, 4)))
        for w in ([5, 6], (5, 6))
    ]
    assert shapes[0] == shapes[1]


def test_a_network_without_hidden_layers_is_a_linear_model(key):
    model = models.build("mlp", widths=(), classes=3)
    x = jnp.arange(8.0).reshape(2, 4)
    params = model.init(key, x)
    assert model.input_layer == model.logits_layer == "head"
    assert jnp.array_equal(model.apply(params, x), x @ params["head"]["kernel"])


def test_behind_a_norm_the_size_of_weights_does_not_matter(key):
    model = models.build("mlp", widths=(4,), classes=3, norm=True)
    x = jnp.arange(8.0).reshape(2, 4)
    params = model.init(key, x)
    assert {name: set(layer) for name, layer in params.items()} == {
        "head": {"bias", "kernel"},
        "layer1": {"bias", "kernel"},
        "norm1": {"bias", "scale"},
    }
    larger = params | {"layer1": jax.tree.map(lambda w: 8.0 * w, params["layer1"])}
    outputs = model.apply(larger, x)
    assert jnp.abs(outputs - model.apply(params, x)).max() < 1e-4  # the norm's own 1e-6


def test_settings_are_listed_with_their_defaults():
    assert models.settings_of("vit") == {
        "patch": 2,
        "width": 32,
        "depth": 2,
        "heads": 4,
        "classes": 10,
    }


def assert_sentence(error, words):
    message = str(error.value)
    assert message.endswith(".") and "\n" not in message
    for word in words:
        assert word in message, message
