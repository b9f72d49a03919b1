import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc import models
from pxsgmcmc.tree import paths, size
from tests.helpers.closeness import assert_close
from tests.models import plain_networks

CIFAR = jax.ShapeDtypeStruct((2, 32, 32, 3), jnp.float32)
DIGITS = jax.ShapeDtypeStruct((2, 8, 8, 1), jnp.float32)


def shapes(example=CIFAR, **settings):
    """The parameters of a network as shapes: all that counting takes."""
    init = models.build("resnet_frn", **settings).init
    return jax.eval_shape(lambda key: init(key, example), jax.random.key(0))


@pytest.mark.parametrize(
    ("classes", "settings", "parameters"),
    [
        (10, {"out": 0, "into": 0}, 274_042),
        (10, {"out": 1, "into": 1}, 383_098),
        (10, {"out": 2, "into": 2}, 492_154),
        (10, {"out": 1, "into": 0}, 349_306),
        (10, {"out": 0, "into": 1}, 307_834),
        (10, {"rank": 1 / 8}, 303_610),
        (10, {"rank": 1 / 4}, 330_874),
        (100, {"out": 0, "into": 0}, 279_892),
        (100, {}, 388_948),
        (200, {"out": 0, "into": 0}, 286_392),
        (200, {}, 395_448),
    ],
)
def test_r20_has_the_published_counts(classes, settings, parameters):
    assert px.plan(shapes(classes=classes), **settings).parameters == parameters


def test_r20_has_63_factors_with_2304_channels():
    plan = px.plan(shapes())
    widths = [row.out.width for row in plan.layers if row.out.count]
    widths += [row.into.width for row in plan.layers if row.into.count]
    assert plan.factor_count == len(widths) == 63
    assert sum(widths) == 2_304
    assert plan.untouched == ()


def test_r20_has_21_convolutions_21_norms_and_a_head_and_its_ends_are_recognised():
    plan = px.plan(shapes())
    kinds = [row.layer.kind for row in plan.layers]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "convolution": 21,
        "norm": 21,
        "dense": 1,
    }
    notes = {row.note: row.layer.name for row in plan.layers if row.note}
    assert notes == {"input": "stem/conv", "logits": "head"}


def test_naming_the_ends_helps_where_widths_mislead():
    params = shapes(classes=64)  # as many classes as channels: the head cannot be told by its width
    model = models.build("resnet_frn", classes=64)
    guessed = px.plan(params)
    named = px.plan(params, input_layer=model.input_layer, logits_layer=model.logits_layer)
    assert [row.layer.name for row in guessed.layers if row.note] == ["stem/conv"]
    assert named.parameters - named.base_parameters == 109_056


@pytest.mark.parametrize(
    ("depth", "width", "parameters"),
    [(8, 4, 5_310), (8, 5, 8_125), (8, 8, 20_146), (14, 4, 11_582)],
)
def test_desk_size_members_have_the_counts_of_a_sum_by_hand(depth, width, parameters):
    def conv_norm(window, inputs, outputs):
        return window**2 * inputs * outputs + outputs + 3 * outputs

    by_hand = conv_norm(3, 1, width) + 4 * width * 10 + 10
    for inputs, outputs in ((width, width), (width, 2 * width), (2 * width, 4 * width)):
        by_hand += conv_norm(3, inputs, outputs) + conv_norm(3, outputs, outputs)
        by_hand += conv_norm(1, inputs, outputs) * (inputs != outputs)
        by_hand += ((depth - 2) // 6 - 1) * 2 * conv_norm(3, outputs, outputs)
    assert size(shapes(DIGITS, depth=depth, width=width)) == by_hand == parameters


def test_the_names_of_a_block_read_as_in_a_sentence():
    names = [name for name in paths(shapes(depth=14)) if name.startswith("stage2/block1")]
    assert names == [
        "stage2/block1/conv1/bias",
        "stage2/block1/conv1/kernel",
        "stage2/block1/conv2/bias",
        "stage2/block1/conv2/kernel",
        "stage2/block1/norm1/bias",
        "stage2/block1/norm1/scale",
        "stage2/block1/norm1/threshold",
        "stage2/block1/norm2/bias",
        "stage2/block1/norm2/scale",
        "stage2/block1/norm2/threshold",
        "stage2/block1/shortcut/conv/bias",
        "stage2/block1/shortcut/conv/kernel",
        "stage2/block1/shortcut/norm/bias",
        "stage2/block1/shortcut/norm/scale",
        "stage2/block1/shortcut/norm/threshold",
    ]


def test_forward_pass_equals_a_plain_one_in_numpy():
    # Two blocks a stage: with and without a shortcut. 6 -> 3 -> 2 pixels: strides on even and odd.
    model = models.build("resnet_frn", depth=14, width=3, classes=4)
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3, 6, 6, 2)).astype(np.float32)
    layout = jax.eval_shape(model.init, jax.random.key(0), x)
    params = jax.tree.map(lambda p: rng.normal(0.0, 0.5, p.shape).astype(np.float32), layout)
    ours = jax.jit(model.apply)(params, x)
    # 13 convolutions of up to 9 * 12 terms, with a norm that makes every layer's scale one.
    assert_close(ours, plain_networks.resnet(params, x, 2), terms=13 * 9 * 12)


@pytest.fixture(scope="module")
def starts():
    """R20, and where it starts with eight keys."""
    model = models.build("resnet_frn")
    return model, [model.init(key, CIFAR) for key in jax.random.split(jax.random.key(0), 8)]


def test_r20_starts_with_the_expected_norm(starts):
    # |params|^2 has mean 2 * 784 + 784 + 10 = 2362 and, with the fourth moment of the cut-off
    # normal, standard deviation 6.1; 5 standard errors are exceeded once in 10^6.
    squares = [sum(np.sum(np.square(p)) for p in jax.tree.leaves(params)) for params in starts[1]]
    assert abs(np.mean(squares) - 2362) < 5 * 6.1 / 8**0.5
    assert np.sqrt(np.mean(squares)) == pytest.approx(48.60, abs=0.12)


def test_r20_gives_finite_logits(starts):
    model, params = starts[0], starts[1][0]
    x = np.linspace(-2.0, 2.0, 2 * 32 * 32 * 3, dtype=np.float32).reshape(CIFAR.shape)
    logits = jax.jit(model.apply)(params, x)
    assert logits.shape == (2, 10) and np.all(np.isfinite(logits))


def test_layers_start_as_said(starts):
    block = starts[1][0]["stage3"]["block2"]
    kernel, he = block["conv2"]["kernel"], np.sqrt(2 / (9 * 64))
    assert np.std(kernel) == pytest.approx(he, rel=0.02)
    assert 1.99 * he / 0.8796 < np.max(np.abs(kernel)) <= 2 * he / 0.8796
    heads = np.stack([params["head"]["kernel"] for params in starts[1]])
    assert np.std(heads) == pytest.approx(np.sqrt(1 / 64), rel=0.05)
    assert np.all(block["norm2"]["scale"] == 1)
    for zeros in (block["conv2"]["bias"], block["norm2"]["bias"], block["norm2"]["threshold"]):
        assert not np.any(zeros)


def test_the_head_can_start_as_the_paper_says(key):
    lecun, he = (
        models.build("resnet_frn", depth=8, width=4, head_init=name).init(key.copy(), DIGITS)
        for name in ("lecun", "he")
    )
    np.testing.assert_allclose(
        he["head"]["kernel"], np.sqrt(2) * lecun["head"]["kernel"], rtol=1e-6
    )
    assert np.array_equal(he["stem"]["conv"]["kernel"], lecun["stem"]["conv"]["kernel"])
