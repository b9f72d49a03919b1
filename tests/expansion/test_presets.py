"""The layers of Flax, Equinox and plain dicts: right axes, checked on the layers themselves.

Whatever the names and the layout, a layer with collapsed weights must give what the base layer
gives when the factors mix its input before and its output after.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen, nnx

import pxsgmcmc as px

from .mixing import (
    INTO,
    OUT,
    assert_same,
    collapse,
    expanded_at_random,
    image,
    is_shape,
    mixes,
    product,
    split,
)

NNX = {
    "linear": lambda r: nnx.Linear(INTO, OUT, rngs=r),
    "conv1": lambda r: nnx.Conv(INTO, OUT, (3,), rngs=r),
    "conv2": lambda r: nnx.Conv(INTO, OUT, (3, 2), rngs=r),
    "conv3": lambda r: nnx.Conv(INTO, OUT, (2, 3, 2), rngs=r),
    "transposed2": lambda r: nnx.ConvTranspose(INTO, OUT, (3, 2), rngs=r),
    "einsum": lambda r: nnx.Einsum("bc,cd->bd", (INTO, OUT), (OUT,), rngs=r),
}


@pytest.mark.parametrize("name", NNX)
def test_nnx_layers_mix_inputs_and_outputs(name):
    module = nnx.eval_shape(lambda: nnx.Dict(layer=NNX[name](nnx.Rngs(0))))
    graph, params, rest = nnx.split(module, nnx.Param, ...)
    dims = int(name[-1]) if name[-1].isdigit() else 0
    x = image(dims, channels=INTO, first=False)
    position = expanded_at_random(params)

    def apply(params, x):
        return nnx.merge(graph, params, rest)["layer"](x)

    assert_same(mixes(position, apply, x, layer="layer", channels=-1))


LINEN = {
    "dense": lambda: linen.Dense(OUT),
    "conv1": lambda: linen.Conv(OUT, (3,)),
    "conv2": lambda: linen.Conv(OUT, (3, 2)),
    "conv3": lambda: linen.Conv(OUT, (2, 3, 2)),
    "transposed1": lambda: linen.ConvTranspose(OUT, (3,)),
}


@pytest.mark.parametrize("name", LINEN)
def test_linen_layers_mix_inputs_and_outputs(name):
    module = LINEN[name]()
    x = image(int(name[-1]) if name[-1].isdigit() else 0, channels=INTO, first=False)
    position = expanded_at_random(jax.eval_shape(module.init, jax.random.key(0), x))
    assert_same(mixes(position, module.apply, x, layer="params", channels=-1))


EQUINOX = {
    "linear": lambda key: eqx.nn.Linear(INTO, OUT, key=key),
    "conv1": lambda key: eqx.nn.Conv1d(INTO, OUT, 3, key=key),
    "conv2": lambda key: eqx.nn.Conv2d(INTO, OUT, (3, 2), key=key),
    "conv3": lambda key: eqx.nn.Conv3d(INTO, OUT, 2, key=key),
    "transposed1": lambda key: eqx.nn.ConvTranspose1d(INTO, OUT, 3, key=key),
    "transposed2": lambda key: eqx.nn.ConvTranspose2d(INTO, OUT, (3, 2), key=key),
}


@pytest.mark.parametrize("name", EQUINOX)
def test_equinox_layers_mix_inputs_and_outputs(name):
    module = {"layer": eqx.filter_eval_shape(EQUINOX[name], jax.random.key(0))}
    params, static = eqx.partition(module, is_shape)
    x = image(int(name[-1]) if name[-1].isdigit() else 0, channels=INTO, first=True)
    position = expanded_at_random(params)

    def apply(params, x):
        return eqx.combine(params, static)["layer"](x)

    assert_same(mixes(position, apply, x, layer="layer", channels=0))


@pytest.mark.parametrize("bias_shape", [(OUT,), (1, OUT)])
@pytest.mark.parametrize(("weight", "bias"), [("kernel", "bias"), ("w", "b")])
def test_plain_dicts_mix_inputs_and_outputs(weight, bias, bias_shape):
    params = {"layer": {weight: jnp.zeros((INTO, OUT)), bias: jnp.zeros(bias_shape)}}
    x = image(0, channels=INTO, first=False)

    def apply(params, x):
        return x @ params["layer"][weight] + params["layer"][bias].reshape(1, OUT)

    assert_same(mixes(expanded_at_random(params), apply, x, layer="layer", channels=-1))


def test_an_embedding_mixes_its_features_in_flax_and_equinox():
    tokens = jnp.array([0, 3, 6])
    params, apply = split(nnx.eval_shape(lambda: nnx.Embed(7, OUT, rngs=nnx.Rngs(0))))
    position = expanded_at_random(params)
    P = product(reversed(position.factors["(root)"].out), OUT)
    assert position.factors["(root)"].into == ()
    np.testing.assert_allclose(
        apply(collapse(position), tokens), apply(position.base, tokens) @ P.T, atol=1e-3
    )
    table = {"table": eqx.filter_eval_shape(eqx.nn.Embedding, 7, OUT, key=jax.random.key(0))}
    table = eqx.filter(table, is_shape)
    position = expanded_at_random(table)
    P = product(reversed(position.factors["table"].out), OUT)
    np.testing.assert_allclose(
        collapse(position)["table"].weight, position.base["table"].weight @ P.T, atol=1e-3
    )


class NnxNorms(nnx.Module):
    def __init__(self, rngs):
        self.layer = nnx.LayerNorm(6, rngs=rngs)
        self.group = nnx.GroupNorm(6, num_groups=2, rngs=rngs)
        self.batch = nnx.BatchNorm(6, rngs=rngs)
        self.rms = nnx.RMSNorm(6, rngs=rngs)


def test_each_norm_layer_has_one_factor_shared_by_its_vectors():
    params = nnx.state(nnx.eval_shape(lambda: NnxNorms(nnx.Rngs(0))), nnx.Param)
    plan = px.plan(params)
    assert sorted(row.layer.name for row in plan.layers) == ["batch", "group", "layer", "rms"]
    for row in plan.layers:
        assert (row.layer.kind, str(row.out), row.into.count) == ("norm", "6x6", 0)
    assert plan.untouched == ()
    position = expanded_at_random(params)
    P = product(reversed(position.factors["layer"].out), 6)
    old, new = position.base["layer"], collapse(position)["layer"]
    for vector in ("scale", "bias"):
        np.testing.assert_allclose(new[vector][...], P @ old[vector][...], rtol=1e-3, atol=1e-3)


def test_filter_response_norms_are_recognised():
    params = {"frn": {leaf: jnp.zeros(4) for leaf in ("scale", "bias", "threshold")}}
    (row,) = px.plan(params).layers
    assert row.layer.kind == "norm" and len(row.layer.leaves) == 3 and str(row.out) == "4x4"


def test_equinox_norms_attention_and_perceptron_are_recognised():
    keys = jax.random.split(jax.random.key(0), 2)
    model = lambda: {  # noqa: E731
        "norms": [
            eqx.nn.LayerNorm(6),
            eqx.nn.GroupNorm(2, 6),
            eqx.nn.RMSNorm(6),
            eqx.nn.BatchNorm(6, axis_name="batch", mode="batch"),
        ],
        "attention": eqx.nn.MultiheadAttention(2, 6, use_query_bias=True, key=keys[0]),
        "mlp": eqx.nn.MLP(4, 3, 8, 2, key=keys[1]),
        "grid": eqx.nn.LayerNorm((4, 6)),  # weights without a channel axis of their own
    }
    model = eqx.nn.delete_init_state(eqx.filter_eval_shape(model))  # no running averages
    plan = px.plan(eqx.filter(model, is_shape))
    kinds = {row.layer.name: row.layer.kind for row in plan.layers}
    assert kinds == {
        **{f"norms/{i}": "norm" for i in range(4)},
        **{f"attention/{part}_proj": "dense" for part in ("query", "key", "value", "output")},
        **{f"mlp/layers/{i}": "dense" for i in range(3)},
    }
    assert plan.untouched == ("grid/weight", "grid/bias")
    notes = {row.layer.name: row.note for row in plan.layers if row.note}
    assert notes == {"mlp/layers/0": "input", "mlp/layers/2": "logits"}


def test_equinox_attention_mixes_by_its_projections():
    attention = eqx.filter_eval_shape(eqx.nn.MultiheadAttention, 2, 6, key=jax.random.key(0))
    params, static = eqx.partition({"attention": attention}, is_shape)
    position = expanded_at_random(params)
    base, merged = position.base["attention"], collapse(position)["attention"]
    for name in ("query_proj", "output_proj"):
        factors = position.factors[f"attention/{name}"]
        P, Q = product(reversed(factors.out), 6), product(factors.into, 6)
        np.testing.assert_allclose(
            getattr(merged, name).weight, P @ getattr(base, name).weight @ Q, rtol=1e-3, atol=1e-2
        )
    x = np.ones((5, 6), np.float32)
    assert eqx.combine({"attention": merged}, static)["attention"](x, x, x).shape == (5, 6)


@pytest.mark.parametrize("bias", [True, False])
def test_nnx_attention_mixes_heads_and_features_together(bias):
    def build():
        return nnx.MultiHeadAttention(
            2, 6, qkv_features=8, out_features=5, use_bias=bias, decode=False, rngs=nnx.Rngs(0)
        )

    params = nnx.state(nnx.eval_shape(lambda: nnx.Dict(attention=build())), nnx.Param)
    position = expanded_at_random(params)
    found = {leaf.name: (leaf.out, leaf.into) for row in position.layers for leaf in row.leaves}
    assert found["attention/query/kernel"] == ((1, 2), (0,))
    assert found["attention/out/kernel"] == ((2,), (0, 1))
    merged = collapse(position)["attention"]
    for name, shape in (("query", (6, 8)), ("value", (6, 8)), ("out", (8, 5))):
        factors = position.factors[f"attention/{name}"]
        P, Q = product(reversed(factors.out), shape[1]), product(factors.into, shape[0])
        kernel = position.base["attention"][name]["kernel"][...].reshape(shape)
        np.testing.assert_allclose(
            merged[name]["kernel"][...].reshape(shape), (P @ kernel.T @ Q).T, rtol=1e-3, atol=1e-2
        )
        if bias:
            a = position.base["attention"][name]["bias"][...].reshape(-1)
            np.testing.assert_allclose(
                merged[name]["bias"][...].reshape(-1), P @ a, rtol=1e-3, atol=1e-2
            )


def test_general_linear_layers_are_read_by_the_axes_of_their_bias():
    """Without such a bias a kernel of three axes reads as a convolution; a rule says otherwise."""

    def build(r):
        return nnx.Dict(
            several_out=nnx.LinearGeneral(4, (2, 3), rngs=r),
            several_in=nnx.LinearGeneral((2, 3), 5, axis=(-2, -1), rngs=r),
            per_head=nnx.Einsum("btd,ndh->btnh", (2, 4, 3), (2, 1, 3), rngs=r),
        )

    params = nnx.state(nnx.eval_shape(lambda: build(nnx.Rngs(0))), nnx.Param)

    def axes(**settings):
        plan = px.plan(params, **settings)
        return {
            leaf.name: (leaf.out, leaf.into) for row in plan.layers for leaf in row.layer.leaves
        }

    found = axes()
    assert found["several_out/kernel"] == ((1, 2), (0,)) and found["several_out/bias"][0] == (0, 1)
    assert found["several_in/kernel"] == ((2,), (1,))
    assert found["per_head/kernel"] == ((2,), (1,)) and found["per_head/bias"] == ((2,), ())
    kernel = px.Rule("several_in/kernel", out=2, into=(0, 1))
    ruled = axes(rules=[kernel, px.Rule("several_in/bias", out=0)])
    assert ruled["several_in/kernel"] == ((2,), (0, 1)) and ruled["several_in/bias"] == ((0,), ())
    assert "several_in/bias" not in axes(rules=[kernel])  # a rule speaks of its leaves alone


def test_what_no_preset_knows_is_listed_as_it_is():
    def build(r):
        return nnx.Dict(
            turned=nnx.ConvTranspose(INTO, OUT, (3, 3), transpose_kernel=True, rngs=r),
            lora=nnx.LoRA(INTO, 2, OUT, rngs=r),
        )

    plan = px.plan(nnx.state(nnx.eval_shape(lambda: build(nnx.Rngs(0))), nnx.Param))
    assert plan.layers == ()
    assert plan.untouched == ("lora/lora_a", "lora/lora_b", "turned/bias", "turned/kernel")


def test_a_network_gives_the_same_output_before_and_after_expansion_in_both_frameworks():
    def at_random(shapes):
        rng = np.random.default_rng(3)
        return jax.tree.map(lambda x: rng.normal(size=x.shape).astype(x.dtype), shapes)

    def build():
        layers = nnx.Conv(3, 4, (3, 3), rngs=nnx.Rngs(0)), nnx.Conv(4, 2, (1, 1), rngs=nnx.Rngs(1))
        return nnx.Sequential(layers[0], nnx.silu, layers[1])

    shapes, apply = split(nnx.eval_shape(build))
    mlp = eqx.filter_eval_shape(eqx.nn.MLP, 4, 3, 8, 2, key=jax.random.key(0))
    eqx_shapes, static = eqx.partition(mlp, is_shape)
    for params, network, x in (
        (at_random(shapes), apply, image(2, channels=3, first=False)),
        (at_random(eqx_shapes), lambda p, x: eqx.combine(p, static)(x), np.ones(4, np.float32)),
    ):
        position = px.expand(params, px.plan(params))
        network = jax.jit(network)
        assert np.array_equal(network(params, x), network(collapse(position), x))
