import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pxsgmcmc import tree
from pxsgmcmc.errors import UserError
from tests.helpers.closeness import assert_close

MIXED = {"a": jnp.ones((2, 3), jnp.bfloat16), "b": [jnp.zeros(()), jnp.full(4, 2.0)]}


def refused(call, *words):
    with pytest.raises(UserError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message and all(word in message for word in words), message


def test_paths_name_leaves_in_flattening_order():
    assert tree.paths(MIXED) == ["a", "b/0", "b/1"]
    assert tree.paths(jnp.ones(2)) == [""]


def test_size_counts_numbers_scalars_included():
    assert tree.size(MIXED) == 11
    assert tree.size({}) == 0


def test_broadcast_prefix_repeats_over_subtrees():
    assert tree.broadcast_prefix(3.0, MIXED, "x") == {"a": 3.0, "b": [3.0, 3.0]}
    assert tree.broadcast_prefix({"a": 1.0, "b": 2.0}, MIXED, "x") == {"a": 1.0, "b": [2.0, 2.0]}
    assert tree.broadcast_prefix({"a": 1.0, "b": 2.0}, {"a": 0.0, "b": ()}, "x")["b"] == ()


def test_broadcast_prefix_names_a_tree_that_does_not_fit():
    wide = {f"a_long_name_{i}": jnp.ones(1) for i in range(50)}
    refused(lambda: tree.broadcast_prefix({"a": 1.0}, MIXED, "friction"), "`friction`", "'b'")
    refused(lambda: tree.broadcast_prefix({"a": 1.0}, wide, "friction"), "`friction`", "...")


def test_check_prefix_lets_traced_numbers_pass():
    assert float(jax.jit(lambda g: tree.check_prefix("friction", g))(2.0)) == 2.0


def test_check_float_leaves_names_the_place():
    refused(lambda: tree.check_float_leaves("position", {}), "`position`", "empty tree")
    refused(lambda: tree.check_float_leaves("position", jnp.arange(2)), "int32", "its root")
    refused(lambda: tree.check_float_leaves("position", {"n": [jnp.arange(2)]}), "'n/0'")
    module = {"activation": jnp.tanh}  # as an Equinox module keeps its functions
    remedy = "`eqx.partition(model, eqx.is_inexact_array)`"
    refused(lambda: tree.check_float_leaves("params", module), "'activation'", remedy)
    tree.check_float_leaves("position", MIXED)


def test_by_path_takes_the_first_pattern_that_matches():
    values = {"b/*": 1.0, "*": 2.0}
    assert tree.by_path(MIXED, values) == {"a": 2.0, "b": [1.0, 1.0]}
    refused(lambda: tree.by_path(MIXED, {"b/*": 1.0}, "variance"), "`variance`", "'a'")
    refused(lambda: tree.by_path(MIXED, {"*": 1.0, "c": 2.0}, "variance"), "matches nothing", "'c'")


def test_map_like_computes_in_float32_and_keeps_types():
    # In bfloat16 1 + 2^-9 + 2^-9 would round to 1 twice; in float32 the sum is kept.
    small = 2.0**-9
    out = tree.map_like(lambda x: (x + small + small) - 1.0, MIXED)
    assert [x.dtype for x in jax.tree.leaves(out)] == [x.dtype for x in jax.tree.leaves(MIXED)]
    np.testing.assert_array_equal(np.asarray(out["a"], float), 2 * small)


def test_dot_and_sum_of_squares_add_in_float32():
    ones = jnp.ones(4096, jnp.bfloat16)  # a bfloat16 sum would stop at 256
    assert float(tree.sum_of_squares({"a": ones, "b": jnp.ones(())})) == 4097.0
    assert float(tree.dot([jnp.array([1.0, 2.0])], [jnp.array([3.0, -4.0])])) == -5.0
    assert tree.dot(ones, ones).dtype == jnp.float32
    assert float(tree.sum_of_squares({})) == 0.0


def test_where_picks_a_whole_tree():
    a, b = {"x": jnp.ones(2)}, {"x": jnp.zeros(2)}
    assert tree.where(jnp.bool_(True), a, b)["x"].tolist() == [1.0, 1.0]
    assert tree.where(jnp.bool_(False), a, b)["x"].tolist() == [0.0, 0.0]


TERMS = 32  # roundings from a uniform number to a normal one: logarithm, root and polynomial


def test_normals_are_standard_and_shaped_like_the_tree(key):
    z = tree.normal_like(key, {"a": jnp.zeros((300, 100)), "b": jnp.zeros((), jnp.bfloat16)})
    assert z["a"].shape == (300, 100) and z["b"].dtype == jnp.bfloat16
    values = np.asarray(z["a"], float)
    assert abs(values.mean()) * np.sqrt(values.size) < 4.5
    assert abs((values**2).mean() - 1) * np.sqrt(values.size / 2) < 4.5


def test_leaves_that_come_later_do_not_change_the_normals_before(key):
    short = {"a": jnp.zeros(5), "b": jnp.zeros((2, 2))}
    long = {**short, "c": jnp.zeros(7)}
    alone, beside = (tree.normal_like(jax.random.clone(key), t) for t in (short, long))
    for name in short:  # draws of two lengths are two programs
        assert_close(alone[name], beside[name], terms=TERMS)


def test_normals_of_many_blocks_begin_like_those_of_one_and_follow_the_law(key):
    count = 3 * tree.NOISE_BLOCK + 5
    draw = jax.jit(tree.normal_like)
    short = np.asarray(draw(jax.random.clone(key), jnp.zeros(100)))
    long = np.asarray(draw(jax.random.clone(key), jnp.zeros(count)))
    assert_close(long[:100], short, terms=TERMS)
    assert len(np.unique(long)) > 0.98 * count  # 23 bits: a repeated block would show
    for values in (long, np.roll(long, tree.NOISE_BLOCK) * long):
        assert abs(values.mean()) * np.sqrt(count) < 4.5
    assert abs((long**2).mean() - 1) * np.sqrt(count / 2) < 4.5


def test_normals_of_different_leaves_differ(key):
    z = tree.normal_like(key, {"a": jnp.zeros(5), "b": jnp.zeros(5)})
    assert not np.any(np.asarray(z["a"]) == np.asarray(z["b"]))


def test_zeros_keep_types():
    zeros = tree.zeros_like(MIXED)
    assert zeros["a"].dtype == jnp.bfloat16 and float(tree.sum_of_squares(zeros)) == 0.0
