"""Sets told apart by uncertainty, over subsets."""

from statistics import fmean, stdev

import numpy as np
import pytest

from pxsgmcmc.evaluate import detect as module
from pxsgmcmc.evaluate.detect import detect
from pxsgmcmc.evaluate.options import EvaluateOptions
from pxsgmcmc.metrics import detection

RANDOM = np.random.default_rng(0)
INSIDE, OUTSIDE = RANDOM.exponential(0.3, 60), RANDOM.exponential(0.6, 80)


def test_the_spread_over_subsets_is_that_of_a_sample(monkeypatch):
    tables = []
    monkeypatch.setattr(
        module, "detection", lambda *pair: tables.append(detection(*pair)) or tables[-1]
    )
    found = detect(INSIDE, OUTSIDE, "photos", EvaluateOptions(subset=20, subsets=3))
    assert len(tables) == found.subsets == 3
    for name in ("auroc", "aupr_outside"):
        values = [table[name] for table in tables]
        assert found.metrics[name] == pytest.approx(fmean(values), rel=1e-12)
        assert found.spread[name] == pytest.approx(stdev(values), rel=1e-12)  # with n - 1


def test_sets_that_are_taken_whole_make_one_pair_without_spread():
    found = detect(INSIDE, OUTSIDE, "photos", EvaluateOptions(subset=80, subsets=3))
    assert found.subsets == 1 and set(found.spread.values()) == {0.0}
    assert found.metrics == pytest.approx(detection(INSIDE, OUTSIDE), rel=1e-12)


def test_one_subset_has_no_spread():
    found = detect(INSIDE, OUTSIDE, "photos", EvaluateOptions(subset=20, subsets=1))
    assert found.subsets == 1 and set(found.spread.values()) == {0.0}


def test_every_set_has_subsets_of_its_own_and_the_same_every_time():
    options = EvaluateOptions(subset=20, subsets=2)
    one, again = (detect(INSIDE, OUTSIDE, "photos", options) for _ in range(2))
    assert one == again != detect(INSIDE, OUTSIDE, "letters", options)
