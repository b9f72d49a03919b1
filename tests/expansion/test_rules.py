"""Rules by hand, layer names, overrides, ranks, and which layers face the outside."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.expansion import LowRank, as_matrix


def shapes(**leaves):
    """Nested names joined by double underscores -> a tree of arrays of those shapes."""
    tree = {}
    for name, shape in leaves.items():
        *parents, leaf = name.split("__")
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
        node[leaf] = np.zeros(shape, np.float32)
    return tree


MLP = shapes(a__kernel=(4, 8), a__bias=(8,), b__kernel=(8, 6), b__bias=(6,), c__kernel=(6, 3))
CNN = shapes(
    conv__kernel=(3, 3, 3, 8), conv__bias=(8,), dense__kernel=(128, 16), logits__kernel=(16, 10)
)


def factor_counts(plan):
    return {row.layer.name: (row.out.count, row.into.count) for row in plan.layers}


def axes(plan):
    return {leaf.name: (leaf.out, leaf.into) for row in plan.layers for leaf in row.layer.leaves}


def randomised(position, seed=0):
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda x: jnp.asarray(rng.normal(size=x.shape), x.dtype), position)


def test_a_rule_with_several_output_axes_multiplies_them_together():
    params = shapes(query=(5, 2, 3))
    plan = px.plan(params, rules=[px.Rule("query", into=0, out=(1, 2))], expand_input=True,
                   expand_logits=True)  # fmt: skip
    position = randomised(px.expand(params, plan))
    P, Q = position.factors["query"].out[0], position.factors["query"].into[0]
    W = px.collapse(position)["query"]
    expected = np.einsum("ou,lu,li->io", P, position.base["query"].reshape(5, 6), Q)
    assert P.shape == (6, 6) and Q.shape == (5, 5)
    np.testing.assert_allclose(W, expected.reshape(5, 2, 3), rtol=2e-5, atol=1e-5)


def test_the_order_of_several_axes_is_the_order_they_are_named_in():
    params = shapes(w=(2, 3, 4))
    plan = px.plan(params, rules=[px.Rule("w", out=(2, 0))])
    position = randomised(px.expand(params, plan))
    P = position.factors["w"].out[0].reshape(4, 2, 4, 2)
    expected = np.einsum("cadb,bxd->axc", P, position.base["w"])
    np.testing.assert_allclose(px.collapse(position)["w"], expected, rtol=2e-5, atol=1e-5)


def test_negative_axes_count_from_the_end():
    by_end = px.plan(shapes(w=(3, 3, 5, 7)), rules=[px.Rule("w", out=-1, into=-2)])
    by_start = px.plan(shapes(w=(3, 3, 5, 7)), rules=[px.Rule("w", out=3, into=2)])
    assert axes(by_end) == axes(by_start) == {"w": ((3,), (2,))}


def test_leaves_with_one_layer_name_share_its_factors():
    params = shapes(w1=(4, 8), b1=(8,), w2=(8, 3))
    rules = [
        px.Rule("w1", into=0, out=1, layer="first"),
        px.Rule("b1", out=0, layer="first"),
        px.Rule("w2", into=0, out=1, layer="second"),
    ]
    plan = px.plan(params, rules=rules)
    assert factor_counts(plan) == {"first": (1, 0), "second": (0, 1)}
    assert plan.factor_parameters == 64 + 64
    position = randomised(px.expand(params, plan))
    P = position.factors["first"].out[0]
    np.testing.assert_allclose(
        px.collapse(position)["b1"], P @ position.base["b1"], rtol=2e-5, atol=1e-5
    )


def test_a_rule_for_one_leaf_joins_the_layer_its_siblings_make():
    params = shapes(a__kernel=(4, 8), a__offset=(8,), b__kernel=(8, 3))
    plan = px.plan(params, rules=[px.Rule("a/offset", out=0)])
    assert plan.untouched == ()
    assert plan.factor_parameters == px.plan(params).factor_parameters
    position = randomised(px.expand(params, plan))
    P = position.factors["a"].out[0]
    np.testing.assert_allclose(
        px.collapse(position)["a"]["offset"], P @ position.base["a"]["offset"], rtol=2e-5, atol=1e-5
    )


def test_a_rule_without_axes_leaves_its_leaves_alone():
    plan = px.plan(MLP, rules=[px.Rule("b/*")])
    assert factor_counts(plan) == {"a": (1, 0), "c": (0, 1)}
    assert plan.untouched == ("b/bias", "b/kernel")
    only_bias = px.plan(MLP, rules=[px.Rule("*/bias")])
    assert only_bias.untouched == ("a/bias", "b/bias")
    assert only_bias.factor_parameters == px.plan(MLP).factor_parameters


def test_the_first_matching_rule_wins():
    rules = [px.Rule("a/kernel", out=0), px.Rule("*/kernel", out=1, into=0)]
    assert axes(px.plan(MLP, rules=rules))["a/kernel"] == ((0,), ())


def test_attention_is_still_recognised_beside_a_rule_for_one_of_its_parts():
    params = shapes(
        m__query__kernel=(6, 2, 4),
        m__key__kernel=(6, 2, 4),
        m__value__kernel=(6, 2, 4),
        m__out__kernel=(2, 4, 6),
    )
    found = axes(px.plan(params, rules=[px.Rule("m/query/*")]))
    assert found["m/key/kernel"] == ((1, 2), (0,)) and found["m/out/kernel"] == ((2,), (0, 1))
    assert "m/query/kernel" not in found


def test_input_and_logits_of_a_multilayer_perceptron_are_recognised():
    assert factor_counts(px.plan(MLP)) == {"a": (1, 0), "b": (1, 1), "c": (0, 1)}
    opened = px.plan(MLP, expand_input=True, expand_logits=True)
    assert factor_counts(opened) == {"a": (1, 1), "b": (1, 1), "c": (1, 1)}


def test_behind_convolutions_a_flattened_image_is_not_taken_for_the_input():
    plan = px.plan(CNN)
    assert {row.layer.name: row.note for row in plan.layers} == {
        "conv": "input", "dense": "", "logits": "logits",
    }  # fmt: skip
    assert factor_counts(plan)["dense"] == (1, 1)


def test_where_input_and_logits_cannot_be_told_the_plan_says_so_and_names_can_be_given():
    params = shapes(a__kernel=(3, 8), b__kernel=(8, 3))  # as many inputs as outputs
    unknown = px.plan(params)
    assert factor_counts(unknown) == {"a": (1, 1), "b": (1, 1)}
    assert "no input layer recognised; name it with `input_layer`" in str(unknown)
    assert "no logits layer recognised; name it with `logits_layer`" in str(unknown)
    told = px.plan(params, input_layer="a", logits_layer="b")
    assert factor_counts(told) == {"a": (1, 0), "b": (0, 1)}
    assert "recognised" not in str(told)


def test_settings_of_a_layer_override_those_of_the_model():
    plan = px.plan(MLP, layers={"*": {"out": 2}, "b": {"out": 3, "into": 2, "rank": 2}})
    assert factor_counts(plan) == {"a": (2, 0), "b": (3, 2), "c": (0, 1)}
    assert {row.layer.name: row.out.rank for row in plan.layers} == {"a": None, "b": 2, "c": None}


@pytest.mark.parametrize(
    ("rank", "expected"), [(1, 1), (3, 3), (5, 5), (0.5, 4), (0.01, 1), (1.0, 8)]
)
def test_a_rank_is_a_number_or_a_fraction_of_the_width_and_stays_within_it(rank, expected):
    row = px.plan(MLP, rank=rank).layers[0]
    assert row.out.rank == expected
    assert row.out.parameters == 8 + 2 * 8 * expected


def test_low_rank_factors_start_at_the_identity_with_a_gradient_for_the_low_rank_part(key):
    position = px.expand(MLP, px.plan(MLP, rank=2), key)
    factor = position.factors["a"].out[0]
    assert isinstance(factor, LowRank)
    assert np.array_equal(as_matrix(factor), np.eye(8))
    assert np.all(factor.diagonal == 1.0) and np.all(factor.right == 0.0)
    assert factor.left.shape == (2, 8) and np.std(factor.left) > 0.0


def test_the_left_parts_are_independent_normals_of_variance_one_over_the_rank(key):
    params = shapes(a__kernel=(4, 400), b__kernel=(400, 3))
    position = px.expand(params, px.plan(params, out=2, rank=8), key)
    left = [f.left for f in (*position.factors["a"].out, *position.factors["b"].into)]
    assert len(left) == 3
    z = np.concatenate([np.ravel(x) for x in left]) * np.sqrt(8)
    # 9,600 normals: standard errors 0.0102 of the mean, 0.0144 of the variance
    assert abs(z.mean()) < 5 * 0.0102 and abs(z.var() - 1) < 5 * 0.0144
    correlations = np.corrcoef([np.ravel(x) for x in left])[np.triu_indices(3, 1)]
    assert np.all(np.abs(correlations) < 5 / np.sqrt(3_200))


def test_a_low_rank_collapse_equals_that_of_the_matrices_written_out(key):
    params = jax.tree.map(jnp.asarray, MLP)
    low = randomised(px.expand(params, px.plan(params, out=2, into=2, rank=3), key))
    full = px.expand(params, px.plan(params, out=2, into=2))
    written = jax.tree.map(as_matrix, low.factors, is_leaf=lambda f: isinstance(f, LowRank))
    dense = type(full)(low.base, written, full.layers)
    collapse = jax.jit(px.collapse)
    for a, b in zip(jax.tree.leaves(collapse(low)), jax.tree.leaves(collapse(dense)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-3)


def test_groups_stand_for_base_and_factors():
    plan = px.plan(MLP)
    position = px.expand(MLP, plan)
    for prefix in (
        plan.groups(base=100.0, factors=1.0),
        px.groups(position, base=100.0, factors=1.0),
    ):
        full = jax.tree.map(
            lambda value, part: jax.tree.map(lambda _: value, part), prefix, position
        )
        assert set(jax.tree.leaves(full.base)) == {100.0}
        assert set(jax.tree.leaves(full.factors)) == {1.0}
    assert px.groups(MLP, base=100.0, factors=1.0) == 100.0
