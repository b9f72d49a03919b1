"""The published parameter counts of the 20-layer network, and what they are made of."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.tree import size
from tests.helpers.quick_jit import quick_jit

from .r20_shapes import r20_shapes, r20_zeros

COUNTS = [
    # classes, settings, parameters
    (10, {"out": 0, "into": 0}, 274_042),
    (10, {"out": 1, "into": 1}, 383_098),
    (10, {"out": 2, "into": 2}, 492_154),
    (10, {"out": 1, "into": 0}, 349_306),
    (10, {"out": 0, "into": 1}, 307_834),
    (10, {"rank": 1 / 8}, 303_610),
    (10, {"rank": 1 / 4}, 330_874),
    (100, {"out": 0, "into": 0}, 279_892),
    (100, {"out": 1, "into": 1}, 388_948),
    (200, {"out": 0, "into": 0}, 286_392),
    (200, {"out": 1, "into": 1}, 395_448),
]


@pytest.mark.parametrize(("classes", "settings", "parameters"), COUNTS)
def test_the_published_counts_are_reached(classes, settings, parameters):
    plan = px.plan(r20_shapes(classes), **settings)
    assert plan.parameters == parameters
    assert plan.base_parameters == {10: 274_042, 100: 279_892, 200: 286_392}[classes]


def test_the_count_is_that_of_the_position_the_sampler_moves():
    params = r20_shapes()
    for settings, parameters in (({"out": 2}, 458_362), ({"rank": 1 / 8}, 303_610)):
        plan = px.plan(params, **settings)
        position = jax.eval_shape(lambda p: px.expand(p, plan, jax.random.key(0)), params)  # noqa: B023
        assert size(position) == plan.parameters == parameters


def test_one_factor_a_side_gives_63_factors_in_three_families():
    plan = px.plan(r20_shapes())
    families = {"convolution out": [], "norm out": [], "into": []}
    for row in plan.layers:
        side = f"{row.layer.kind} out"
        families.get(side, []).extend([row.out.width] * row.out.count)
        families["into"].extend([row.into.width] * row.into.count)
    entries = {name: sum(w**2 for w in widths) for name, widths in families.items()}
    assert entries == {"convolution out": 37_632, "norm out": 37_632, "into": 33_792}
    assert plan.factor_count == sum(map(len, families.values())) == 63
    assert plan.factor_parameters == sum(entries.values()) == 109_056
    assert sum(sum(widths) for widths in families.values()) == 2_304


def test_the_21_convolutions_and_norms_and_the_dense_layer_have_their_widths():
    plan = px.plan(r20_shapes())
    widths = {
        kind: sorted(row.out.width for row in plan.layers if row.layer.kind == kind)
        for kind in ("convolution", "norm")
    }
    assert widths["convolution"] == widths["norm"] == [16] * 7 + [32] * 7 + [64] * 7
    into = sorted(row.into.width for row in plan.layers if row.into.count)
    assert into == [16] * 8 + [32] * 7 + [64] * 6


def test_image_and_logits_stay_as_they_are_unless_asked_for():
    by_name = {row.layer.name: row for row in px.plan(r20_shapes()).layers}
    assert by_name["stem/conv"].note == "input" and by_name["stem/conv"].into.count == 0
    assert by_name["dense"].note == "logits" and by_name["dense"].out.count == 0
    assert px.plan(r20_shapes(), expand_input=True).parameters == 383_098 + 3**2
    assert px.plan(r20_shapes(), expand_logits=True).parameters == 383_098 + 10**2


def test_the_merge_costs_k2_co2_ci_plus_k2_co_ci2_a_convolution():
    plan = px.plan(r20_shapes())
    expected = 0
    for row in plan.layers:
        kernel = next((leaf.shape for leaf in row.layer.leaves if len(leaf.shape) > 1), None)
        if row.layer.kind == "norm":
            expected += 3 * row.out.width**2
        elif row.layer.kind == "convolution":
            k2, ci, co = kernel[0] ** 2, kernel[2], kernel[3]
            expected += k2 * co**2 * ci + co**2  # kernel, bias
            expected += k2 * co * ci**2 * row.into.count
        else:
            expected += 64**2 * 10  # the dense layer: into alone, its bias untouched
    assert plan.merge_cost == expected == 29_394_688


def test_low_rank_factors_merge_at_2r_plus_1_a_number():
    params = {"a": {"kernel": jnp.zeros((3, 8))}, "b": {"kernel": jnp.zeros((8, 5))}}
    plan = px.plan(params, rank=2)
    assert plan.merge_cost == (2 * 2 + 1) * (24 + 40)


def test_the_start_costs_the_factor_prior_2304_and_nothing_else():
    params = jax.tree.map(lambda x: x + np.float32(0.01), r20_zeros())
    position = px.expand(params, px.plan(params))
    U = px.potential(
        lambda params, batch: jnp.zeros(len(batch)), data_size=7, prior=px.priors.normal(0.02)
    )
    plain, expanded = quick_jit(U)(params, jnp.ones(3)), quick_jit(U.parts)(position, jnp.ones(3))
    assert expanded.prior == plain
    assert expanded.factor_prior == 2_304.0  # lambda / 2 times 2304 for lambda = 2, variance 1/2
    # The published log has half the squared norm of the factors at the start: 1.152e3.
    assert 0.5 * sum(np.sum(np.square(f)) for f in jax.tree.leaves(position.factors)) == 1_152.0
