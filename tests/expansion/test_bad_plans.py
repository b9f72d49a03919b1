"""Plans that cannot be made: one sentence with the argument, the rule and the value."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.expansion.precondition import preconditioner

PARAMS = {
    "a": {"kernel": np.zeros((4, 8), np.float32), "bias": np.zeros(8, np.float32)},
    "b": {"kernel": np.zeros((8, 3), np.float32)},
}

BAD_PLANS = [
    ({"rules": [px.Rule("c/*", out=0)]}, "`rules` has a pattern that matches no parameter: 'c/*'"),
    ({"rules": [px.Rule("a/kernel", out=2)]}, "`rules` gives out=2 to 'a/kernel', which has shape"),
    ({"rules": [px.Rule("a/kernel", out=-3)]}, "`rules` gives out=-3 to 'a/kernel'"),
    ({"rules": [px.Rule("a/kernel", out=0.5)]}, "`rules` gives out=0.5 to 'a/kernel'"),
    ({"rules": [px.Rule("a/kernel", into="0")]}, "`rules` gives into='0' to 'a/kernel'"),
    ({"rules": [px.Rule("a/kernel", out=1, into=-1)]}, "`rules` gives 'a/kernel' an axis twice"),
    ({"rules": [px.Rule("a/kernel", out=(0, 0))]}, "`rules` gives 'a/kernel' an axis twice"),
    (
        {"rules": [px.Rule("*/kernel", out=1, layer="both")]},
        "`rules` puts leaves of different widths into the layer 'both'",
    ),
    ({"rules": [px.Rule("a/bias", into=0)]}, "`rules` puts leaves of different widths"),
    ({"out": -1}, "`out` must be a whole number of at least 0, got -1"),
    ({"out": 1.0}, "`out` must be a whole number of at least 0, got 1.0"),
    ({"into": True}, "`into` must be a whole number of at least 0, got True"),
    ({"rank": 0}, "`rank` must be None, a whole number of at least 1 or a fraction of the width"),
    ({"rank": -0.5}, "got -0.5 for layer 'a'"),
    ({"rank": 1.5}, "got 1.5 for layer 'a'"),
    ({"rank": float("nan")}, "got nan for layer 'a'"),
    ({"rank": "full"}, "got 'full' for layer 'a'"),
    ({"layers": {"z*": {"out": 2}}}, "`layers` has a pattern that matches no layer: 'z*'"),
    ({"layers": {"a": {"depth": 2}}}, "`layers` has no setting 'depth' for 'a'"),
    ({"layers": {"a": {"out": -2}}}, "must be a whole number of at least 0, got -2"),
    ({"input_layer": "z"}, "`input_layer` matches no layer: 'z'; the layers are a, b"),
    ({"logits_layer": "z"}, "`logits_layer` matches no layer: 'z'; the layers are a, b"),
]


def sentence(error):
    text = str(error.value)
    assert text.count("\n") == 0 and text.endswith(".") and len(text) < 300
    return text


@pytest.mark.parametrize(("settings", "says"), BAD_PLANS)
def test_a_bad_plan_is_refused_in_one_sentence(settings, says):
    with pytest.raises(px.UserError) as error:
        px.plan(PARAMS, **settings)
    assert says in sentence(error)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({}, "`params` must hold at least one array, got an empty tree"),
        ({"a": np.zeros(3, np.int32)}, "got int32 array at 'a'"),
        ({"a": {"kernel": 1.0}}, "got float at 'a/kernel'"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(params, says):
    with pytest.raises(px.UserError) as error:
        px.plan(params)
    assert says in sentence(error)


def test_a_plan_is_for_the_parameters_it_was_made_for():
    plan = px.plan(PARAMS)
    with pytest.raises(px.UserError) as error:
        px.expand(PARAMS["a"], plan)
    assert "structure the plan was made for" in sentence(error)
    wider = jax.tree.map(lambda x: np.zeros([2 * n for n in x.shape], np.float32), PARAMS)
    with pytest.raises(px.UserError) as error:
        px.expand(wider, plan)
    assert "got (8, 16) for 'a/kernel' of shape (4, 8)" in sentence(error)


def test_low_rank_factors_ask_for_their_key_and_none_do_not():
    with pytest.raises(px.UserError) as error:
        px.expand(PARAMS, px.plan(PARAMS, rank=2))
    assert "`key` must be given to `expand`" in sentence(error)
    assert px.expand(PARAMS, px.plan(PARAMS, out=0, into=0, rank=2)).factors["a"].out == ()


def test_a_wrong_friction_tree_names_what_it_should_look_like():
    position = px.expand(PARAMS, px.plan(PARAMS))
    U = px.potential(lambda params, batch: jnp.zeros(len(batch)), data_size=1)
    with pytest.raises(px.UserError) as error:
        px.sghmc(U, 0.1, friction={"base": 1.0, "factors": 2.0}).init(position)
    assert "`friction` must be a number or a tree prefix of the position" in str(error.value)


def test_the_preconditioner_needs_a_matrix():
    with pytest.raises(px.UserError) as error:
        preconditioner([])
    assert "`matrices` must hold at least one matrix" in sentence(error)
