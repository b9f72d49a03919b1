"""Calibration of regressions: right predictions look right, wrong ones wrong."""

import numpy as np
import pytest
from scipy import stats

from pxsgmcmc.errors import UserError
from pxsgmcmc.metrics import NormalMixture, coverage_curve, error_against_spread, pit
from tests.helpers.random_mixtures import KINDS, random_mixture


def right_data(kind: str, rows: int = 4000):
    """A mixture and data drawn from it, row by row on its own."""
    mixture, component = random_mixture(kind, (3, rows, 1), seed=5)
    rng = np.random.default_rng(6)
    values = component.rvs(random_state=rng)
    picked = rng.integers(3, size=rows)
    return mixture, values[picked, np.arange(rows), 0].astype(float)


@pytest.mark.parametrize("kind", KINDS)
def test_the_transform_of_right_predictions_is_uniform(kind):
    # Kolmogorov-Smirnov at 1e-6: three false alarms in a million seeds.
    mixture, y = right_data(kind)
    values = pit(mixture, y, np.random.default_rng(7)).ravel()
    assert stats.kstest(values, "uniform").pvalue > 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_of_right_predictions_hold_what_they_promise(kind):
    mixture, y = right_data(kind)
    curve = coverage_curve(pit(mixture, y[:, None], np.random.default_rng(7)))
    error = np.sqrt(curve.nominal * (1 - curve.nominal) / len(y))
    assert len(curve.nominal) == 19  # 57 shares at |z| < 5: a false alarm in 30,000 seeds
    assert (np.abs(curve.observed - curve.nominal) < 5.0 * error).all()


def test_intervals_that_are_too_narrow_are_seen():
    y = np.random.default_rng(8).normal(size=4000)
    values = pit(NormalMixture(np.zeros((1, 4000, 1)), scale=0.5), y)
    assert stats.kstest(values.ravel(), "uniform").pvalue < 1e-6
    curve = coverage_curve(values)
    assert (curve.observed < curve.nominal).all()


def test_counts_need_a_generator():
    mixture, y = right_data("poisson", 5)
    with pytest.raises(UserError, match="`rng` must be a NumPy generator for counts"):
        pit(mixture, y)


def test_the_transform_of_a_count_lies_between_its_steps():
    mixture, y = right_data("poisson", 300)
    values = pit(mixture, y, np.random.default_rng(0))
    assert (values <= mixture.cdf(y)).all()
    above_zero = y > 0
    before = mixture.cdf(np.maximum(y - 1.0, 0.0))
    assert (values[above_zero] >= before[above_zero]).all()


def test_error_follows_spread_where_spreads_are_right():
    mixture, y = right_data("normal")
    bins = error_against_spread(mixture, y, bins=8)
    assert bins.counts.tolist() == [500] * 8 and (np.diff(bins.std[:, 0]) > 0.0).all()
    # A mean of 500 squares has a relative error below √(3 / 500) for these mixtures: 5 of them.
    assert (np.abs(bins.rmse / bins.std - 1.0) < 2.5 * np.sqrt(3 / 500)).all()


def test_there_are_no_more_bins_than_rows():
    mixture, y = right_data("normal", 3)
    assert error_against_spread(mixture, y, bins=10).counts.tolist() == [1, 1, 1]


@pytest.mark.parametrize("values", [np.array([]), np.array([1.2]), np.array([np.nan])])
def test_a_transform_outside_its_range_is_refused(values):
    with pytest.raises(UserError, match="`pit` must hold at least one number"):
        coverage_curve(values)
