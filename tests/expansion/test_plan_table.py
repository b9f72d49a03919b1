"""What `print(plan)` shows."""

import numpy as np

import pxsgmcmc as px

from .r20_shapes import r20_shapes

PARAMS = {
    "a": {"kernel": np.zeros((4, 8), np.float32), "bias": np.zeros(8, np.float32)},
    "b": {"kernel": np.zeros((8, 3), np.float32)},
    "temperature": np.zeros((), np.float32),
}


def test_the_table_has_a_line_a_layer_the_totals_and_what_is_left_as_it_is():
    assert str(px.plan(PARAMS)).splitlines() == [
        "layer  kind            shape  out  into  parameters  expanded  merge cost",
        "-------------------------------------------------------------------------",
        "a      dense (input)   4x8    8x8  -             40       104         320",
        "b      dense (logits)  8x3    -    8x8           24        88         192",
        "-------------------------------------------------------------------------",
        "total                                            65       193         512",
        "2 factors; merge cost in multiply-adds per step",
        "as they are (no rule): temperature",
    ]


def test_several_factors_and_ranks_are_written_in_the_table():
    text = str(px.plan(PARAMS, out=2, into=3, layers={"b": {"rank": 2}}))
    assert "2 of 8x8" in text and "3 of 8r2" in text


def test_the_table_adds_up():
    plan = px.plan(r20_shapes())
    lines = [line.split() for line in str(plan).splitlines() if line.split()[-1][0].isdigit()]
    numbers = np.array([[int(cell.replace(",", "")) for cell in line[-3:]] for line in lines])
    assert len(numbers) == 43 + 1 and plan.untouched == ()
    assert np.array_equal(numbers[:-1].sum(axis=0), numbers[-1])
    assert tuple(numbers[-1]) == (274_042, 383_098, plan.merge_cost)


def test_a_tree_that_no_rule_speaks_of_is_planned_as_it_is():
    plan = px.plan({"x": np.zeros(3, np.float32)})
    assert plan.layers == () and plan.untouched == ("x",) and plan.parameters == 3
    position = px.expand({"x": np.ones(3, np.float32)}, plan)
    assert np.array_equal(px.collapse(position)["x"], np.ones(3))
