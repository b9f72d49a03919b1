"""The metrics against scikit-learn and plain loops on random input, and the curves over draws."""

import math
import tracemalloc

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st

from pxsgmcmc import metrics
from pxsgmcmc.evaluate.parts import curve_by_burn_in
from pxsgmcmc.likelihoods import categorical
from pxsgmcmc.metrics import METRICS, measure
from pxsgmcmc.metrics import _checks as checks
from pxsgmcmc.metrics._windows import firsts, sliding
from pxsgmcmc.metrics.classification import measure_windows


def softmax(z):
    top = max(z)
    e = [math.exp(x - top) for x in z]
    return [x / sum(e) for x in e]


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values)


def entropy(p):
    return -math.fsum(x * math.log(x) for x in p if x > 0)


def loop_oracle(logits, labels):
    """Every metric with loops and the textbook's definitions, nothing shared with the library."""
    per_row = []
    bins = [[] for _ in range(15)]
    for i, y in enumerate(labels):
        z = [list(map(float, logits[m][i])) for m in range(len(logits))]
        p = [softmax(row) for row in z]
        classes = range(len(p[0]))
        bar = [mean(q[k] for q in p) for k in classes]
        logit_average = softmax([mean(row[k] for row in z) for k in classes])
        variance = [mean((q[k] - bar[k]) ** 2 for q in p) for k in classes]
        guess = next(k for k in classes if bar[k] >= max(bar) * (1 - 1e-12))
        j = next(j for j in range(15) if max(bar) <= (j + 1 + 1e-9) / 15)
        bins[j].append((max(bar), guess == y))
        members = mean(-math.log(q[y]) for q in p)
        per_row.append(
            {
                "err": float(guess != y),
                "nll": -math.log(bar[y]),
                "ind": members,
                "amb": members + math.log(logit_average[y]),
                "var": math.fsum(variance),
                "var_label": variance[y],
                "var_ortega": variance[y] / (2 * max(q[y] for q in p) ** 2),
                "brier": math.fsum((bar[k] - (k == y)) ** 2 for k in classes),
                "entropy": entropy(bar),
                "aleatoric": mean(entropy(q) for q in p),
                "epistemic": entropy(bar) - mean(entropy(q) for q in p),
            }
        )
    found = {name: mean(row[name] for row in per_row) for name in per_row[0]}
    found["ece"] = sum(
        len(b) / len(labels) * abs(mean(c for _, c in b) - mean(f for f, _ in b)) for b in bins if b
    )
    return found


def random_ensemble(seed, draws, data, classes, scale=3.0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    logits = scale * rng.normal(size=(draws, data, classes))
    return logits.astype(dtype), rng.integers(0, classes, size=data)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.integers(1, 9),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.1, 3.0, 40.0]),
)
def test_every_metric_equals_its_loop(seed, draws, data, classes, scale):
    logits, labels = random_ensemble(seed, draws, data, classes, scale)
    expected = loop_oracle(logits, labels)
    found = measure(logits, labels)
    assert set(found) == set(expected)
    for name in METRICS:
        assert found[name] == pytest.approx(expected[name], rel=1e-9, abs=1e-10), name


def test_the_model_average_scores_as_scikit_learn_says():
    logits, labels = random_ensemble(0, 8, 400, 6, scale=2.0)
    p = np.exp(metrics.log_mean_probabilities(logits))
    found = measure(logits, labels)
    assert found["nll"] == pytest.approx(sk.log_loss(labels, p), abs=1e-12)
    assert found["err"] == pytest.approx(1 - sk.accuracy_score(labels, p.argmax(1)), abs=1e-12)
    brier = sk.brier_score_loss(labels, p, scale_by_half=False, labels=range(6))
    assert found["brier"] == pytest.approx(brier, abs=1e-12)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 30), st.integers(2, 40))
def test_detection_equals_scikit_learn_ties_and_all(seed, n, m, distinct):
    rng = np.random.default_rng(seed)
    inside = rng.integers(0, distinct, n) / 7.0  # few distinct values: many ties
    outside = rng.integers(distinct // 3, distinct + 3, m) / 7.0
    scores = np.concatenate([inside, outside])
    strange = np.repeat([0, 1], [n, m])
    assert metrics.auroc(inside, outside) == pytest.approx(sk.roc_auc_score(strange, scores))
    for positive, truth, score in [("inside", 1 - strange, -scores), ("outside", strange, scores)]:
        found = metrics.average_precision(inside, outside, positive)
        assert found == pytest.approx(sk.average_precision_score(truth, score))
        fpr, tpr, _ = sk.roc_curve(truth, score, drop_intermediate=False)
        curve = metrics.roc(inside, outside, positive)
        assert curve.false_positive_rate == pytest.approx(fpr)
        assert curve.true_positive_rate == pytest.approx(tpr)
        for q in (0.5, 0.95, 0.99):
            best = 1.0 - fpr[tpr >= q - 1e-12].min()
            assert metrics.tnr_at_tpr(inside, outside, q, positive) == pytest.approx(best)


def test_reliability_equals_a_loop_over_right_closed_bins():
    rng = np.random.default_rng(4)
    confidence = np.concatenate([rng.uniform(0, 1, 300), np.arange(1, 11) / 10])
    correct = rng.uniform(size=310) < confidence
    found = metrics.reliability(confidence, correct, bins=10)
    for j in range(10):
        inside = (confidence > j / 10 + 1e-10) & (confidence <= (j + 1) / 10 + 1e-10)
        assert found.counts[j] == inside.sum()
        assert found.confidence[j] == pytest.approx(confidence[inside].mean())
        assert found.accuracy[j] == pytest.approx(correct[inside].mean())


def test_risk_coverage_without_ties_is_the_running_mean_of_sorted_losses():
    rng = np.random.default_rng(5)
    losses, uncertainty = rng.normal(size=50), rng.permutation(50)
    curve = metrics.risk_coverage(losses, uncertainty)
    ordered = losses[np.argsort(uncertainty)]
    assert curve.risk == pytest.approx([ordered[: k + 1].mean() for k in range(50)])


def test_expected_risk_under_ties_is_the_mean_over_random_orders():
    rng = np.random.default_rng(6)
    losses, uncertainty = rng.normal(size=12), np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 4, 4])
    orders = [np.lexsort((rng.permutation(12), uncertainty)) for _ in range(20_000)]
    risks = np.cumsum(losses[np.array(orders)], axis=1) / np.arange(1, 13)
    spread = risks.std(axis=0) / math.sqrt(len(orders))
    gap = np.abs(metrics.risk_coverage(losses, uncertainty).risk - risks.mean(axis=0))
    assert (gap <= 5.0 * spread + 1e-9).all()  # 12 points: false alarm rate below 1e-5


# Curves over draws.


def by_draws(logits, labels, names=tuple(METRICS)):
    """Metrics of the first 1, 2, ... draws."""
    return measure_windows(logits, labels, names, firsts(np.arange(1, len(logits) + 1)))


def test_metrics_by_draws_are_those_of_the_first_draws():
    logits, labels = random_ensemble(7, 6, 40, 4)
    curves = by_draws(logits, labels)
    for k in range(1, 7):
        for name, value in measure(logits[:k], labels).items():
            assert curves[name][k - 1] == pytest.approx(value, abs=1e-12), (name, k)
    some = measure_windows(logits, labels, ["nll"], firsts(np.array([5, 2])))
    assert some["nll"].tolist() == [curves["nll"][4], curves["nll"][1]]


@pytest.mark.parametrize("width", [1, 2, 3, 5, 7])
def test_metrics_of_sliding_windows_are_those_of_their_draws(width):
    logits, labels = random_ensemble(8, 7, 30, 3)
    curves = measure_windows(logits, labels, METRICS, sliding(7, width))
    for name, curve in curves.items():
        assert len(curve) == 8 - width
        for b, value in enumerate(curve):
            together = measure(logits[b : b + width], labels, [name])[name]
            assert value == pytest.approx(together, abs=1e-12), (name, b)


def test_a_window_of_half_the_draws_moves_along_the_burn_in():
    logits, labels = random_ensemble(8, 7, 30, 3)
    curve = curve_by_burn_in(categorical(), logits, labels)
    assert curve is not None and curve.at == [0, 1, 2, 3, 4]
    for name in ("err", "nll"):
        for b in curve.at:
            alone = np.mean([measure(draw, labels, [name])[name] for draw in logits[b : b + 3]])
            together = measure(logits[b : b + 3], labels, [name])[name]
            assert curve.values[f"individual_{name}"][b] == pytest.approx(alone, abs=1e-12)
            assert curve.values[f"ensemble_{name}"][b] == pytest.approx(together, abs=1e-12)


def test_a_hundred_draws_give_windows_of_fifty_for_burn_in_up_to_fifty():
    logits, labels = random_ensemble(9, 100, 5, 3)
    curve = curve_by_burn_in(categorical(), logits, labels)
    assert curve is not None and (curve.at[0], curve.at[-1]) == (0, 50)


def test_one_draw_has_a_curve_of_one_point_and_no_burn_in():
    logits, labels = random_ensemble(10, 1, 5, 3)
    assert by_draws(logits, labels, ["nll"])["nll"].shape == (1,)
    assert curve_by_burn_in(categorical(), logits, labels) is None


# Size.


def test_blocks_of_rows_add_up_to_the_whole(monkeypatch):
    logits, labels = random_ensemble(11, 5, 33, 4)
    whole, curves = measure(logits, labels), by_draws(logits, labels)
    split = metrics.uncertainty(logits)
    monkeypatch.setattr(checks, "BLOCK_ENTRIES", 5 * 4 * 7)  # seven rows a block, five in the last
    for name, value in measure(logits, labels).items():
        assert value == pytest.approx(whole[name], abs=1e-13), name
    for name, curve in by_draws(logits, labels).items():
        assert curve == pytest.approx(curves[name], abs=1e-13), name
    for part, expected in zip(metrics.uncertainty(logits), split, strict=True):
        assert part == pytest.approx(expected, abs=1e-13)


def test_a_memory_mapped_file_is_read_without_being_copied(tmp_path):
    draws, data, classes = 40, 20_000, 10
    logits = np.lib.format.open_memmap(
        tmp_path / "logits.npy", "w+", np.float32, (draws, data, classes)
    )
    rng = np.random.default_rng(12)
    for draw in logits:
        draw[:] = rng.standard_normal((data, classes), np.float32)
    labels = rng.integers(0, classes, data)
    tracemalloc.start()
    measure(logits, labels, ["nll", "amb", "var", "ece"])
    by_draws(logits, labels, ["nll", "ece"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 25e6 < logits.size * 4  # the file is 32 MB, in float64 it would be 64 MB


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_lower_precision_is_raised_before_anything_is_summed(dtype):
    logits, labels = random_ensemble(13, 4, 20, 3, dtype=dtype)
    assert measure(logits, labels) == measure(logits.astype(np.float64), labels)
