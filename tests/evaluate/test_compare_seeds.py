"""Tests of significance against SciPy's own, and by counting on fingers."""

import math

import numpy as np
import pytest
from scipy import stats

from pxsgmcmc.errors import UserError
from pxsgmcmc.evaluate import seeds
from pxsgmcmc.evaluate.seeds import holm, permutation_test, smallest_p, t_test

SAMPLES = [
    ([0.31, 0.29, 0.35, 0.30], [0.25, 0.27, 0.24, 0.29]),
    ([1.0, 2.0, 3.0], [3.0, 4.0, 6.0]),
    ([5.0, 5.5], [5.2, 5.1]),
    ([-0.1, 0.4, 0.3, 0.2, 0.9, 0.1], [0.5, 0.4, 0.8, 1.2, 1.1, 0.7]),
]
UNEQUAL = [([0.1, 0.2], [0.3, 0.5, 0.4, 0.2]), ([3.0, 1.0, 2.0, 5.0, 9.0], [2.0, 2.5, 0.5])]


@pytest.mark.parametrize(("a", "b"), SAMPLES + UNEQUAL)
def test_welchs_test_is_scipys(a, b):
    assert t_test(a, b) == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue, rel=1e-10)


@pytest.mark.parametrize(("a", "b"), SAMPLES)
def test_the_paired_test_is_scipys(a, b):
    assert t_test(a, b, paired=True) == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-10)


@pytest.mark.parametrize(("a", "b"), SAMPLES + UNEQUAL)
def test_the_permutation_test_goes_through_every_way_to_deal(a, b):
    # SciPy doubles the smaller tail; taking sizes of differences is the same for equal numbers.
    def size(x, y, axis):
        return np.abs(np.mean(y, axis=axis) - np.mean(x, axis=axis))

    oracle = stats.permutation_test(
        (a, b), size, n_resamples=np.inf, vectorized=True, alternative="greater"
    )
    assert permutation_test(a, b) == pytest.approx(oracle.pvalue, rel=1e-12)


@pytest.mark.parametrize(("a", "b"), SAMPLES)
def test_the_paired_permutation_test_turns_every_pair_round(a, b):
    def size(x, y, axis):
        return np.abs(np.mean(y - x, axis=axis))

    oracle = stats.permutation_test(
        (a, b),
        size,
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
        alternative="greater",
    )
    assert permutation_test(a, b, paired=True) == pytest.approx(oracle.pvalue, rel=1e-12)


def test_ways_counted_on_fingers():
    assert permutation_test([1, 2, 3], [4, 5, 6]) == 2 / 20
    assert permutation_test([1, 2], [3, 4]) == 2 / 6
    assert permutation_test([1], [2, 3]) == 2 / 3  # 1.5, 0, -1.5
    assert permutation_test([1, 1], [1, 1]) == 1.0
    assert permutation_test([1, 2, 3], [2, 3, 4], paired=True) == 2 / 8
    assert permutation_test([1, 5], [2, 4], paired=True) == 1.0


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 3), (4, 4), (2, 5), (1, 4), (6, 6)])
def test_the_smallest_p_is_reached_by_the_most_different_values(n, m, paired):
    if paired and n != m:
        return
    far_apart = permutation_test(np.linspace(0, 1, n), 10 + np.linspace(0, 0.7, m), paired=paired)
    assert far_apart == pytest.approx(smallest_p(n, m, paired=paired))


def test_the_numbers_of_seeds_that_can_reach_a_twentieth():
    assert [smallest_p(n, n) < 0.05 for n in (2, 3, 4)] == [False, False, True]
    assert [smallest_p(n, n, paired=True) < 0.05 for n in (4, 5, 6)] == [False, False, True]


@pytest.mark.parametrize("paired", [False, True])
def test_random_ways_stand_for_all_where_there_are_too_many(monkeypatch, paired):
    a, b = SAMPLES[3]
    exact = permutation_test(a, b, paired=paired)
    monkeypatch.setattr(seeds, "MOST_WAYS", 60)  # of 64 and 924
    few = permutation_test(a, b, paired=paired)
    assert abs(few - exact) < 4.5 * math.sqrt(exact * (1 - exact) / 60) + 1 / 61
    assert few == permutation_test(a, b, paired=paired), "it must not change from call to call"


@pytest.mark.parametrize("paired", [False, True])
def test_no_number_of_random_ways_makes_the_p_value_zero(monkeypatch, paired):
    # Of 2^30 (or 60 choose 30) ways only two are as extreme: 100 random ones miss both.
    monkeypatch.setattr(seeds, "MOST_WAYS", 100)
    apart = permutation_test(np.linspace(0, 1, 30), np.linspace(10, 11, 30), paired=paired)
    assert apart == 1 / 101
    assert smallest_p(30, 30, paired=paired) == 1 / 101


def test_the_permutation_test_is_right_under_its_null():
    # p <= 0.1 has probability exactly 2/20 for 3 and 3; 600 repetitions, |z| < 4.5.
    rng = np.random.default_rng(0)
    hits = np.mean([permutation_test(*rng.normal(size=(2, 3))) <= 0.1 for _ in range(600)])
    assert abs(hits - 0.1) < 4.5 * math.sqrt(0.09 / 600)


def test_no_spread_is_no_test_rather_than_certainty():
    assert t_test([0.02, 0.02], [0.03, 0.03]) is None
    assert t_test([0.1, 0.2, 0.3], [0.4, 0.5, 0.6], paired=True) is None
    assert t_test([1.0], [2.0, 3.0]) is None
    assert t_test([0.0, 0.0], [0.0, 0.0]) is None


def test_holms_correction_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


def test_holms_correction_keeps_the_order_and_lies_within_bonferronis():
    p = np.random.default_rng(1).uniform(size=20)
    corrected = np.array(holm(list(p)))
    assert (np.diff(corrected[np.argsort(p)]) >= 0).all()
    assert (corrected >= p).all() and (corrected <= np.minimum(1.0, 20 * p) + 1e-15).all()


@pytest.mark.parametrize(
    ("a", "b", "paired", "words"),
    [
        ([], [1.0], False, "at least one number"),
        ([1.0, 2.0], [1.0], True, "in pairs"),
        ([1.0, math.nan], [1.0, 2.0], False, "finite"),
    ],
)
def test_values_that_cannot_be_tested_are_named(a, b, paired, words):
    for test in (t_test, permutation_test):
        with pytest.raises(UserError, match=words):
            test(a, b, paired=paired)
