"""What is searched: ranges around a configuration, given ones, edges."""

import pytest

from pxsgmcmc.config import parse_config
from pxsgmcmc.errors import UserError
from pxsgmcmc.tuning.space import (
    as_setting,
    at_edge,
    from_flags,
    search_ranges,
    usual_settings,
    widened,
    with_values,
)
from tests.helpers.small_settings import SMALL
from tests.tuning.made_up_trials import CONFIG, range_of

PLAIN, EXPANDED = parse_config(CONFIG), parse_config(SMALL)


def test_step_size_friction_by_group_and_prior_are_searched_around_their_values():
    assert usual_settings(PLAIN) == ["sampler.step_size", "sampler.friction", "prior.variance"]
    assert usual_settings(EXPANDED)[1:3] == ["sampler.friction.base", "sampler.friction.factors"]
    laplace = parse_config(SMALL, ["--prior.family", "laplace"])
    assert usual_settings(laplace)[-1] == "prior.scale"
    step, friction, prior = search_ranges(PLAIN, {})
    assert (step.low, step.start, step.high) == (1e-2 / 8, 1e-2, 4e-2)
    assert (friction.low, friction.high) == (1.25, 80.0)
    assert (prior.low, prior.high) == (1 / 16, 16.0)


def test_what_is_given_counts_and_settings_can_be_added_kept_or_left_out():
    asked = from_flags(
        ["prior.variance=0.2:0.4", "sampler.friction=7", "expansion.out=0:2", "chain.cycle_length"]
    ) | {"sampler.step_size": False}
    prior, out, cycle = search_ranges(PLAIN, asked)
    assert (prior.low, prior.high) == (0.2, 0.4)
    assert 0.2 < prior.start < 0.4  # the configured 1 lies outside
    assert (out.low, out.high, out.whole, out.log) == (0, 2, True, False)
    assert (cycle.low, cycle.high, cycle.whole, cycle.log) == (1, 20, True, True)
    changed = with_values(PLAIN, {"expansion.out": 1, "chain.cycle_length": 20})
    assert (changed.expansion.out, changed.chain.cycle_length) == (1, 20)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"prior.variance": [-1.0, 1.0]}, "above 0 for prior.variance"),
        ({"prior.variance": [0.0, 1.0]}, "above 0 for prior.variance"),
        ({"prior.variance": [2.0, 1.0]}, "lower bound of prior.variance first"),
        ({"prior.variance": [1.0]}, "a lower and an upper bound"),
        ({"prior.variance": "wide"}, "a lower and an upper bound"),
        ({"expansion.out": [0, 1.5]}, "whole numbers for expansion.out"),
        ({"expansion.out": True}, "needs bounds for expansion.out"),
        ({"sampler.name": True}, "'sampler.name' is none here"),
        ({"sampler.fiction": True}, "'sampler.fiction' is none here"),
        ({"sampler.friction.base": [1.0, 2.0]}, "`friction` is not a table"),
        ({name: False for name in usual_settings(PLAIN)}, "at least one setting"),
    ],
)
def test_a_space_that_cannot_be_searched_is_refused_in_one_sentence(asked, words):
    with pytest.raises(UserError) as error:
        search_ranges(PLAIN, asked)
    assert words in str(error.value)


@pytest.mark.parametrize("flag", ["prior.variance=", "prior.variance=a:b", "x=1:2:3", "x=inf:2"])
def test_a_flag_that_is_no_range_is_refused(flag):
    with pytest.raises(UserError, match="`--space`"):
        from_flags([flag])


def test_edges_are_found_and_widened_as_far_as_the_setting_allows():
    place = range_of("prior.variance", 0.1, 10.0, 1.0)
    assert [at_edge(place, value) for value in (0.11, 0.3, 1.0, 9.0)] == [
        *("lower", "", "", "upper")
    ]
    wide = widened(PLAIN, place, "upper")
    assert (wide.low, wide.high, wide.first) == (0.1, 40.0, (0.1, 10.0))
    assert widened(PLAIN, place, "lower").low == pytest.approx(0.025)
    whole = range_of("chain.cycle_length", 2, 8, 4, whole=True)
    assert widened(PLAIN, whole, "lower").low == 1.0  # rounded, and not below one step
    depth = range_of("expansion.out", 0, 2, 1, whole=True)
    assert widened(PLAIN, depth, "upper").high == 3.0
    assert widened(PLAIN, depth, "lower").low == 0.0
    decay = parse_config(CONFIG.replace("sghmc", "psgld").replace("friction = 10.0\n", ""))
    full = range_of("sampler.decay", 0.5, 1.0, 0.9)
    assert widened(decay, full, "upper") == full  # a decay above one is not allowed
    assert as_setting(whole, 3.7) == 4 and as_setting(place, 0.123456) == 0.123
