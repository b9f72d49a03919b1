"""Regression metrics: by hand, against plain loops, in parts and over windows."""

import math

import numpy as np
import pytest

from pxsgmcmc.errors import UserError
from pxsgmcmc.metrics import (
    REGRESSION_METRICS,
    NormalMixture,
    StudentTMixture,
    measure_regression,
    regression_metric,
)
from pxsgmcmc.metrics._regression_ensemble import RegressionEnsemble
from pxsgmcmc.metrics._windows import firsts, sliding, whole
from pxsgmcmc.metrics.regression import measure_regression_windows
from tests.helpers.random_mixtures import KINDS, observed, random_mixture


def test_two_draws_on_two_rows_by_hand():
    # Means (0, 2) and (1, 1), noise 1; y = 2 and 0.
    mixture = NormalMixture([[[0.0], [1.0]], [[2.0], [1.0]]], scale=1.0)
    found = measure_regression(mixture, np.array([2.0, 0.0]))
    half_log = 0.5 * math.log(2 * math.pi)
    assert found["rmse"] == pytest.approx(1.0) and found["mae"] == pytest.approx(1.0)
    density = (math.exp(-2.0) + 1.0) / 2
    assert found["nll"] == pytest.approx((-math.log(density) + 0.5) / 2 + half_log)
    assert found["ind"] == pytest.approx((1.0 + 0.5) / 2 + half_log)
    assert found["std"] == pytest.approx((math.sqrt(2.0) + 1.0) / 2)
    assert found["epistemic_share"] == pytest.approx(0.25)
    # F(2) = (Φ(2) + Φ(0)) / 2 = 0.739 and F(0) = Φ(-1) = 0.159: the first within both intervals.
    assert found["coverage90"] == 1.0 and found["coverage50"] == 0.5


def loop_oracle(mixture, y):
    """Every metric from the mixture's own quantities, row by row and target by target."""
    draws, rows, targets = mixture.shape
    mean, std = mixture.mean(), mixture.std()
    low90, low50, high50, high90 = mixture.quantile([0.05, 0.25, 0.75, 0.95])
    errors = [mean[i, t] - y[i, t] for i in range(rows) for t in range(targets)]
    members = [mixture.select(slice(m, m + 1)).log_density(y).sum() for m in range(draws)]
    return {
        "rmse": math.sqrt(math.fsum(e * e for e in errors) / len(errors)),
        "mae": math.fsum(map(abs, errors)) / len(errors),
        "nll": -mixture.log_density(y).sum() / rows,
        "ind": -math.fsum(members) / draws / rows,
        "crps": mixture.crps(y).mean(),
        "coverage90": ((low90 <= y) & (y <= high90)).mean(),
        "width90": (high90 - low90).mean(),
        "coverage50": ((low50 <= y) & (y <= high50)).mean(),
        "std": std.mean(),
        "epistemic_share": (mixture.epistemic() / std**2).mean(),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_every_metric_is_what_its_definition_says(kind):
    mixture, _ = random_mixture(kind, (6, 40, 2))
    y = observed(mixture)
    found, expected = measure_regression(mixture, y), loop_oracle(mixture, y)
    assert list(found) == list(REGRESSION_METRICS)
    for name in REGRESSION_METRICS:
        assert found[name] == pytest.approx(expected[name], rel=1e-9), name


@pytest.mark.parametrize("kind", KINDS)
def test_sums_of_parts_finish_to_the_metric_of_the_whole(kind):
    mixture, _ = random_mixture(kind, (4, 10, 2))
    y, windows = observed(mixture), whole(4)
    expected = measure_regression(mixture, y)
    parts = [
        RegressionEnsemble(mixture.select((slice(None), rows)), y[rows], windows)
        for rows in (slice(0, 3), slice(3, 10))
    ]
    for name, metric in REGRESSION_METRICS.items():
        sums = metric.sums(parts[0]) + metric.sums(parts[1])
        assert metric.finish(sums, 10)[0] == pytest.approx(expected[name], rel=1e-12), name


def test_draws_that_agree_have_no_epistemic_part_and_ind_is_nll():
    mixture = NormalMixture(np.full((5, 3, 1), 0.3), scale=0.7)
    found = measure_regression(mixture, np.array([0.0, 1.0, 2.0]))
    assert found["epistemic_share"] == 0.0
    assert found["ind"] == pytest.approx(found["nll"], rel=1e-14)


def test_an_infinite_variance_leaves_the_other_metrics_finite():
    mixture = StudentTMixture(np.zeros((2, 3, 1)), scale=1.0, freedom=1.5)
    found = measure_regression(mixture, np.array([0.0, 1.0, 2.0]))
    assert found.pop("std") == math.inf and found.pop("epistemic_share") == 0.0
    assert all(map(math.isfinite, found.values()))


@pytest.mark.parametrize("kind", KINDS)
def test_curves_are_the_metrics_of_the_draws_they_name(kind):
    mixture, _ = random_mixture(kind, (6, 9, 2))
    y, names = observed(mixture), list(REGRESSION_METRICS)
    seen = mixture.observed(y)
    by_draws = measure_regression_windows(mixture, seen, names, firsts(np.arange(1, 7)))
    by_burn_in = measure_regression_windows(mixture, seen, names, sliding(6, 4))
    for k in range(1, 7):
        first = measure_regression(mixture.select(slice(k)), y)
        for name in names:
            assert by_draws[name][k - 1] == pytest.approx(first[name], rel=1e-9), name
    for start in range(3):
        kept = measure_regression(mixture.select(slice(start, start + 4)), y)
        for name in names:
            assert by_burn_in[name][start] == pytest.approx(kept[name], rel=1e-9), name


def test_a_window_far_below_the_best_draw_keeps_its_digits():
    mixture = NormalMixture([[[0.0]], [[100.0]]], scale=1.0)
    seen = mixture.observed(np.array([100.0]))
    nll = measure_regression_windows(mixture, seen, ["nll"], sliding(2, 1))["nll"]
    assert nll[0] == pytest.approx(5000.0 + 0.5 * math.log(2 * math.pi))


def test_an_unknown_metric_is_named():
    with pytest.raises(UserError, match="no regression metric 'err'; known are rmse, mae"):
        regression_metric("err")
