"""The metrics on worked examples, degenerate input and bad input."""

import ast
from pathlib import Path

import numpy as np
import pytest

import pxsgmcmc.metrics
from pxsgmcmc import metrics
from pxsgmcmc.errors import UserError
from pxsgmcmc.metrics import METRICS, measure, metric
from pxsgmcmc.metrics._windows import firsts, sliding
from pxsgmcmc.metrics.classification import measure_windows

# Two draws, two data, two classes.
LOGITS = np.array([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 3.0]]])
LABELS = np.array([0, 1])
INSIDE = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.6])
OUTSIDE = np.array([0.35, 0.85, 1.0, 1.2, 1.5, 1.55, 1.7, 1.8, 2.0, 2.1])


def entropy(*p):
    return -sum(x * np.log(x) for x in p)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("err", 0.0),
        ("nll", 0.3629030264),
        ("ind", 0.4505096844),
        ("amb", 0.1500071868),
        ("var", 0.1058591207),
        ("var_label", 0.0529295603),
        ("var_ortega", 0.0335394455),
    ],
)
def test_a_metric_has_its_worked_value_to_every_digit(name, value):
    assert abs(metric(name)(LOGITS, LABELS) - value) < 0.6e-10


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("brier", (2 * 0.42513**2 + 2 * 0.15818**2) / 2),
        ("ece", (0.42513 + 0.15818) / 2),
        ("entropy", (entropy(0.57487, 0.42513) + entropy(0.15818, 0.84182)) / 2),
        (
            "aleatoric",
            (2 * entropy(0.26894, 0.73106) + entropy(0.8808, 0.1192) + entropy(0.04743, 0.95257))
            / 4,
        ),
    ],
)
def test_a_metric_follows_from_the_worked_probabilities(name, value):
    assert metric(name)(LOGITS, LABELS) == pytest.approx(value, abs=2e-5)


def test_the_members_and_the_average_have_their_worked_probabilities():
    members = np.exp(metrics.log_softmax(LOGITS))
    assert members[0].round(5).tolist() == [[0.8808, 0.1192], [0.26894, 0.73106]]
    assert members[1].round(5).tolist() == [[0.26894, 0.73106], [0.04743, 0.95257]]
    average = np.exp(metrics.log_mean_probabilities(LOGITS))
    assert average.round(5).tolist() == [[0.57487, 0.42513], [0.15818, 0.84182]]


def test_ambiguity_is_measured_against_the_average_of_logits_not_of_probabilities():
    logit_ensemble = LOGITS.mean(axis=0)
    assert metric("nll")(logit_ensemble, LABELS) == pytest.approx(0.3005024976, abs=1e-10)
    found = measure(LOGITS, LABELS)
    assert found["ind"] - found["nll"] == pytest.approx(0.0876, abs=1e-4)
    assert found["amb"] != pytest.approx(found["ind"] - found["nll"], abs=1e-2)


def test_calibration_error_has_its_worked_value_and_bins():
    confidence, correct = np.array([0.62, 0.95, 0.97, 0.55, 0.81]), np.array([1, 1, 1, 0, 0])
    diagram = metrics.reliability(confidence, correct)
    assert diagram.error == pytest.approx(0.364, abs=1e-12)
    assert (np.flatnonzero(diagram.counts) + 1).tolist() == [9, 10, 13, 15]
    assert diagram.counts[14] == 2
    assert diagram.confidence[14] == pytest.approx(0.96)
    assert np.isnan(diagram.accuracy[0])
    # The same through logits: the first class is predicted, and right where the label is 0.
    logits = np.log(np.stack([confidence, 1.0 - confidence], axis=1))
    assert metric("ece")(logits, 1 - correct) == pytest.approx(0.364, abs=1e-12)


@pytest.mark.parametrize("j", range(1, 16))
def test_an_edge_belongs_to_the_bin_on_its_left(j):
    counts = metrics.reliability(np.array([j / 15]), np.array([1])).counts
    assert np.flatnonzero(counts).tolist() == [j - 1]
    above = metrics.reliability(np.array([min(1.0, j / 15 + 1e-6)]), np.array([1])).counts
    assert np.flatnonzero(above).tolist() == [min(j, 14)]


def test_detection_has_its_worked_values_in_both_orientations():
    assert metrics.auroc(INSIDE, OUTSIDE) == pytest.approx(0.87, abs=1e-12)
    tnr = metrics.tnr_at_tpr
    assert [tnr(INSIDE, OUTSIDE, q) for q in (0.90, 0.95, 0.99)] == [0.8, 0.4, 0.4]
    assert [tnr(INSIDE, OUTSIDE, q, "outside") for q in (0.90, 0.95)] == [0.8, 0.3]
    table = metrics.detection(INSIDE, OUTSIDE)
    assert table["tnr95_inside"] == 0.4
    assert table["tnr95_outside"] == 0.3


def test_the_rank_of_the_threshold_does_not_suffer_from_rounding():
    # 0.07 * 100 rounds to 7.000000000000001, but the 7th of 100 accepts 7%.
    inside, outside = np.arange(100.0), np.array([6.5])
    assert metrics.tnr_at_tpr(inside, outside, 0.07) == 1.0


def test_a_disputed_row_is_epistemic_and_a_doubtful_one_aleatoric():
    logits = np.array([[[50.0, 0.0], [0.0, 0.0]], [[0.0, 50.0], [0.0, 0.0]]])
    found = metrics.uncertainty(logits)
    assert found.total == pytest.approx([np.log(2), np.log(2)])
    assert found.aleatoric == pytest.approx([0.0, np.log(2)], abs=1e-12)
    assert found.epistemic == pytest.approx([np.log(2), 0.0], abs=1e-12)


def test_agreement_and_total_variation_by_hand():
    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    reference = np.array([[0.5, 0.4, 0.1], [0.1, 0.8, 0.1], [0.4, 0.3, 0.3]])
    assert metrics.agreement(p, reference) == pytest.approx(2 / 3)
    assert metrics.total_variation(p, reference) == pytest.approx((0.2 + 0.0 + 0.1) / 3)
    assert metrics.total_variation(np.eye(3), np.roll(np.eye(3), 1, axis=1)) == 1.0


def test_risk_falls_with_coverage_when_the_errors_are_the_uncertain_ones():
    errors, uncertainty = np.array([0, 0, 0, 1]), np.array([0.1, 0.2, 0.3, 0.9])
    curve = metrics.risk_coverage(errors, uncertainty)
    assert curve.coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert curve.risk.tolist() == [0.0, 0.0, 0.0, 0.25]
    assert curve.area == 0.0625


def test_risk_among_equally_uncertain_data_does_not_depend_on_their_order():
    tied = np.zeros(4)
    one = metrics.risk_coverage(np.array([1, 0, 0, 0]), tied).risk
    other = metrics.risk_coverage(np.array([0, 0, 0, 1]), tied).risk
    assert one.tolist() == other.tolist() == [0.25] * 4


# Degenerate input.


def test_identical_members_have_no_diversity():
    logits = np.random.default_rng(0).normal(size=(1, 50, 7)).repeat(9, axis=0) * 5
    found = measure(logits, np.arange(50) % 7)
    for name in ("amb", "var", "var_label", "var_ortega", "epistemic"):
        assert abs(found[name]) < 1e-6, name
    assert found["ind"] == pytest.approx(found["nll"], abs=1e-12)
    assert found["entropy"] == pytest.approx(found["aleatoric"], abs=1e-12)


def test_one_draw_is_its_own_ensemble():
    logits = np.random.default_rng(1).normal(size=(1, 20, 4))
    found = measure(logits, np.arange(20) % 4)
    assert found["ind"] == found["nll"]
    assert found["amb"] == pytest.approx(0.0, abs=1e-12)
    assert found["var"] == 0.0
    assert found == measure(logits[0], np.arange(20) % 4)  # the axis of draws may be left out


def test_a_single_class_is_always_right():
    found = measure(np.random.default_rng(2).normal(size=(3, 5, 1)), np.zeros(5, int))
    assert all(value == pytest.approx(0.0, abs=1e-12) for value in found.values()), found


def test_labels_of_a_single_class_are_fine():
    found = measure(np.random.default_rng(3).normal(size=(3, 5, 4)), np.full(5, 2))
    assert all(np.isfinite(value) for value in found.values())


@pytest.mark.parametrize("classes", [2, 3, 5, 10, 15])
def test_equal_predictions_are_calibrated_when_right_at_the_rate_of_chance(classes):
    labels = np.repeat(np.arange(classes), 6)
    found = measure(np.full((4, len(labels), classes), 0.3), labels)
    assert found["err"] == pytest.approx(1 - 1 / classes)  # the first class wins the tie
    assert found["nll"] == pytest.approx(np.log(classes))
    assert found["entropy"] == pytest.approx(np.log(classes))
    assert found["brier"] == pytest.approx(1 - 1 / classes)
    assert found["ece"] == pytest.approx(0.0, abs=1e-12)


def test_rounding_does_not_decide_between_two_draws_that_are_sure_of_different_classes():
    # Both draws are sure to 1e-14: every average is (1/2, 1/2) but for its last digits.
    gaps = np.random.default_rng(4).uniform(33.0, 40.0, size=(2, 500))
    logits = np.zeros((2, 500, 2))
    logits[0, :, 0], logits[1, :, 1] = gaps
    largest = metrics.log_mean_probabilities(logits).argmax(axis=1)
    assert 0 < largest.sum() < 500  # rounding would have it both ways
    assert metric("err")(logits, np.zeros(500, int)) == 0.0


def test_scores_that_are_all_equal_tell_nothing():
    inside, outside = np.ones(4), np.ones(6)
    assert metrics.auroc(inside, outside) == 0.5
    assert metrics.tnr_at_tpr(inside, outside) == 0.0
    assert metrics.average_precision(inside, outside) == pytest.approx(0.4)
    assert metrics.average_precision(inside, outside, "outside") == pytest.approx(0.6)
    assert metrics.roc(inside, outside).true_positive_rate.tolist() == [0.0, 1.0]


def test_tiny_probabilities_keep_their_digits():
    # The label has probability e^-2000 in draw 0 and e^-1000 in draw 1: neither is a float64.
    logits = np.array([[[0.0, -2000.0]], [[0.0, -1000.0]]])
    label = np.array([1])
    assert metric("nll")(logits, label) == pytest.approx(1000.0 + np.log(2.0), rel=1e-14)
    assert metric("ind")(logits, label) == 1500.0
    alone = measure_windows(logits, label, ["nll"], sliding(2, 1))["nll"]
    assert alone.tolist() == [2000.0, 1000.0]
    by_draws = measure_windows(logits, label, ["nll"], firsts(np.array([1, 2])))["nll"]
    assert by_draws == pytest.approx([2000.0, 1000.0 + np.log(2.0)], rel=1e-14)
    assert measure(logits, label)["var_ortega"] == 0.0


# Bad input.

NAN = LOGITS.copy()
NAN[1, 0, 1] = np.nan


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: measure(np.zeros((0, 2, 2)), LABELS), "at least one draw"),
        (lambda: measure(np.zeros((2, 0, 2)), np.zeros(0, int)), "at least one draw"),
        (lambda: measure(np.zeros(3), LABELS), "(draws, data, classes)"),
        (lambda: measure(np.array([["a", "b"]]), LABELS), "real numbers"),
        (lambda: measure(NAN, LABELS), "got nan in draw 1, row 0, class 1"),
        (lambda: measure(np.full((1, 2, 2), np.inf), LABELS), "must be finite, got inf"),
        (lambda: measure(LOGITS, np.array([0, 1, 1])), "each of the 2 rows"),
        (lambda: measure(LOGITS, np.array([0, 2])), "0..1, got 2 in row 1"),
        (lambda: measure(LOGITS, np.array([-1, 0])), "0..1, got -1 in row 0"),
        (lambda: measure(LOGITS, np.array([0.0, 1.0])), "whole numbers"),
        (lambda: measure(LOGITS, LABELS, ["nll", "nil"]), "no metric 'nil'; known are err, nll"),
        (lambda: metric("accuracy"), "no metric 'accuracy'"),
        (lambda: metrics.uncertainty(NAN), "must be finite"),
        (lambda: metrics.log_mean_probabilities(NAN), "must be finite"),
        (lambda: metrics.auroc(np.array([]), OUTSIDE), "`inside` must be a non-empty"),
        (lambda: metrics.auroc(INSIDE, np.array([np.nan])), "`outside` must be finite"),
        (lambda: metrics.tnr_at_tpr(INSIDE, OUTSIDE, 0.0), "`tpr` must be a number greater"),
        (lambda: metrics.tnr_at_tpr(INSIDE, OUTSIDE, 0.9, "id"), "'inside' or 'outside'"),
        (lambda: metrics.reliability(np.array([1.5]), np.array([1])), "between 0 and 1"),
        (lambda: metrics.reliability(np.array([0.5]), np.array([1, 0])), "must have 1 entries"),
        (lambda: metrics.reliability(np.array([0.5]), np.array([1]), 0), "`bins`"),
        (lambda: metrics.risk_coverage(INSIDE, OUTSIDE[:3]), "must have 10 entries"),
        (lambda: metrics.agreement(np.eye(2), np.eye(3)), "same shape"),
        (lambda: metrics.agreement(LOGITS[0], np.eye(2)), "sum to one"),
        (lambda: metrics.agreement(np.array([[np.nan, 1.0]]), np.eye(2)), "sum to one"),
        (lambda: metrics.total_variation(np.eye(2)[0], np.eye(2)), "(data, classes)"),
    ],
)
def test_bad_input_is_answered_with_one_sentence(call, words):
    with pytest.raises(UserError) as caught:
        call()
    message = str(caught.value)
    assert words in message
    assert message.endswith(".") and "\n" not in message


# The room.


def test_metrics_import_neither_jax_nor_other_rooms():
    for path in Path(pxsgmcmc.metrics.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert not name.startswith("jax") or name == "jaxtyping", (path.name, name)
                if name.startswith("pxsgmcmc"):
                    assert name.startswith(("pxsgmcmc.metrics", "pxsgmcmc.errors")), name


def test_every_metric_is_listed_under_its_own_name():
    assert [m.name for m in METRICS.values()] == list(METRICS)
