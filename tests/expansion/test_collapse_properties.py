"""Promises that hold for every tree, layout, dtype and depth: 1,000 examples, 150 in a hurry."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pxsgmcmc as px
from pxsgmcmc.expansion import LowRank

# Few shapes, many trees: every new shape costs a compilation of each operation.
INTO, OUT = 2, 3
WINDOW = (2, 2, 2)  # the first 0 to 3 of them


class Case(NamedTuple):
    params: dict
    plan: px.expansion.Plan
    seed: int


class Kernel(NamedTuple):
    """One weight, its shape, and where its channels are."""

    shape: tuple[int, ...]
    out: tuple[int, ...]
    into: tuple[int, ...]

    @classmethod
    def channels_last(cls, window, into, out):
        n = len(window)
        return cls((*window, into, out), (n + 1,), (n,))

    @classmethod
    def channels_first(cls, window, into, out):
        return cls((out, into, *window), (0,), (1,))

    @classmethod
    def heads(cls, window, into, out):
        return cls((into, 2, out), (1, 2), (0,))


LAYOUTS = {"last": Kernel.channels_last, "first": Kernel.channels_first, "heads": Kernel.heads}


@st.composite
def cases(draw):
    dtype = draw(st.sampled_from([np.float32, jnp.bfloat16]))
    seed = draw(st.integers(0, 2**32 - 1))
    params, rules = {}, []
    for index in range(draw(st.integers(1, 3))):
        layout = draw(st.sampled_from(sorted(LAYOUTS)))
        window = WINDOW[: draw(st.integers(0, 3))]
        kernel = LAYOUTS[layout](window, INTO, OUT)
        name, names = f"layer{index}", ("kernel", "bias") if layout == "last" else ("v", "shift")
        leaves = {names[0]: np.zeros(kernel.shape, dtype)}
        if draw(st.booleans()):
            bias_shape = tuple(kernel.shape[axis] for axis in kernel.out)
            leaves[names[1]] = np.zeros(bias_shape, dtype)
        if layout != "last":
            rules.append(px.Rule(f"{name}/v", out=kernel.out, into=kernel.into))
            if names[1] in leaves:
                rules.append(px.Rule(f"{name}/shift", out=tuple(range(len(kernel.out)))))
        params[name] = leaves
    if draw(st.booleans()):
        params["norm"] = {leaf: np.zeros(3, dtype) for leaf in ("scale", "bias", "threshold")}
    if draw(st.booleans()):
        params["alone"] = np.zeros(2, dtype)
    plan = px.plan(
        params,
        out=draw(st.integers(0, 3)),
        into=draw(st.integers(0, 3)),
        rank=draw(st.sampled_from([None, 1])),
        rules=rules,
        expand_input=draw(st.booleans()),
        expand_logits=draw(st.booleans()),
    )
    return Case(params, plan, seed)


def normal_numbers(rng, shape, dtype):
    """Normal floating-point numbers of all sizes, both signs, and +0."""
    smallest, largest = float(jnp.finfo(dtype).tiny), float(jnp.finfo(dtype).max)
    exponents = rng.uniform(np.log(smallest) + 1.0, np.log(largest) - 1.0, shape)
    values = rng.choice([-1.0, 1.0], shape) * np.exp(exponents)
    return np.where(rng.random(shape) < 0.2, 0.0, values).astype(dtype)


def bits(x):
    return np.asarray(x).view(np.uint8)


def examples(number):
    return settings(
        max_examples=number,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@examples(60)
@given(cases())
def test_collapse_undoes_expand_bit_for_bit_and_merges_what_the_factors_do_one_by_one(case):
    check_both_directions(case)


@pytest.mark.slow
@examples(1_000)
@given(cases())
def test_it_does_so_for_a_thousand_trees(case):
    check_both_directions(case)


def check_both_directions(case):
    # No keys are at stake here, and looking for reused ones would triple the time.
    with jax.debug_key_reuse(False):
        rng = np.random.default_rng(case.seed)
        params = jax.tree.map(lambda x: normal_numbers(rng, x.shape, x.dtype), case.params)
        start = px.expand(params, case.plan, jax.random.key(case.seed))
        check_the_start_is_the_original(params, start)
        position = jax.tree.map(lambda x: rng.normal(size=x.shape).astype(x.dtype), start)
        check_merged_output_is_that_of_the_factors(position, rng)


def check_the_start_is_the_original(params, start):
    back = px.collapse(start)
    assert jax.tree.structure(back) == jax.tree.structure(params)
    for new, old in zip(jax.tree.leaves(back), jax.tree.leaves(params), strict=True):
        assert new.dtype == old.dtype and new.shape == old.shape
        assert np.array_equal(bits(new), bits(old))


def check_merged_output_is_that_of_the_factors(position, rng):
    merged = px.collapse(position)
    for layer in position.layers:
        factors = position.factors[layer.name]
        for leaf in layer.leaves:
            V = as_stack(jax.tree.leaves(position.base)[leaf.place], leaf)
            W = as_stack(jax.tree.leaves(merged)[leaf.place], leaf)
            P = factors.out if leaf.out else ()
            Q = factors.into if leaf.into else ()
            x = rng.normal(size=W.shape[-1])
            exact = factor_by_factor(P, V, Q, x, matrix)
            # Rounding: at most one unit per product and width, of the sum of absolute values.
            size = factor_by_factor(P, abs(V), Q, abs(x), absolute_matrix)
            eps = float(jnp.finfo(np.asarray(jax.tree.leaves(merged)[leaf.place]).dtype).eps)
            error = np.abs(np.einsum("toi,i->to", W, x) - exact)
            assert np.all(error <= 2.0 * eps * (len(P) + len(Q)) * size + 1e-12 * size)


def factor_by_factor(P, V, Q, x, as_matrix):
    """P_c (.. (P_1 (V_t (Q_1 (.. (Q_d x)))))) for every tap t."""
    for factor in reversed(Q):
        x = np.einsum("li,i->l", as_matrix(factor), x)
    y = np.einsum("tul,l->tu", V, x)
    for factor in P:
        y = np.einsum("ou,tu->to", as_matrix(factor), y)
    return y


def as_stack(leaf, axes):
    """A leaf as matrices (everything else, out, into) in float64."""
    leaf = np.asarray(leaf, np.float64)
    rest = [axis for axis in range(leaf.ndim) if axis not in axes.out + axes.into]
    moved = leaf.transpose(*rest, *axes.out, *axes.into)
    out = int(np.prod([leaf.shape[axis] for axis in axes.out]))
    into = int(np.prod([leaf.shape[axis] for axis in axes.into]))
    return moved.reshape(-1, out, into)


def matrix(factor):
    if isinstance(factor, LowRank):
        diagonal, left, right = (np.asarray(part, np.float64) for part in factor)
        return np.diag(diagonal) + left.T @ right
    return np.asarray(factor, np.float64)


def absolute_matrix(factor):
    if isinstance(factor, LowRank):
        return matrix(LowRank(*(abs(np.asarray(part, np.float64)) for part in factor)))
    return abs(matrix(factor))
