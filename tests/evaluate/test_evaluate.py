"""Every number of `results.json` against the plain formula on logits computed here."""

import dataclasses

import msgspec
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.config.evaluate_options import options_of
from pxsgmcmc.config.opening import open_any
from pxsgmcmc.data import load as load_set
from pxsgmcmc.data.corruptions import CORRUPTIONS, corrupt
from pxsgmcmc.errors import UserError
from pxsgmcmc.metrics import METRICS, detection, measure, uncertainty
from pxsgmcmc.results import Results
from pxsgmcmc.store import StoredRun, open_run
from tests.helpers.small_runs import shaken, three_draws, two_chains, written

ROWS = 6  # of each corruption
CORRUPTED = ["--evaluate.corruptions", "true", "--evaluate.corrupted_rows", str(ROWS)]
OUTSIDE = ["--evaluate.out_of_distribution", '["photos-sklearn"]', "--evaluate.subset", "400"]
SHIFT = ["--evaluate.shifts", '["digits-shift"]']


def evaluate(folder, settings=(), outputs=None, **changes):
    """As `pxsgmcmc evaluate` does it; `changes` are made to the problem."""
    run = open_any(folder, settings=list(settings))
    if changes:
        run.problem = dataclasses.replace(run.problem, **changes)
    return run.evaluate(options_of(run, list(settings)), outputs=outputs)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return three_draws(tmp_path_factory.mktemp("evaluate") / "run", "--evaluate.batch_size", "100")


@pytest.fixture(scope="module")
def results(run):
    return evaluate(run, settings=CORRUPTED + OUTSIDE + SHIFT)


@pytest.fixture(scope="module")
def logits(run):
    """(inputs) -> logits of every draw."""
    opened = px.open(run)
    draws = list(opened)
    return lambda x: np.stack([np.asarray(opened.problem.distribution(d, x)) for d in draws])


def rows_of(name, split="test"):
    return load_set(name).splits[split]


def close(found, expected):
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_what_was_written_is_what_was_returned(run, results):
    found = evaluate(run)
    assert msgspec.json.decode(open_run(run).read_artifact("results.json"), type=Results) == found
    assert (found.test, found.by_draws, found.gallery) == (
        results.test,
        results.by_draws,
        results.gallery,
    )
    assert found.shifts == found.out_of_distribution == {} and found.corruptions is None


def test_of_many_training_rows_a_few_that_are_evenly_spaced_can_be_measured(run, results, logits):
    found = evaluate(run, settings=["--evaluate.train_rows", "9"])
    x, y = open_any(run).problem.train
    chosen = np.linspace(0, len(x) - 1, 9).round().astype(int)
    assert found.train.rows == 9 and found.test == results.test
    close(found.train.metrics["nll"], measure(logits(x[chosen]), y[chosen])["nll"])
    assert found.subject.train_sha256 == results.subject.train_sha256


def test_the_rows_it_was_judged_on_are_known_by_their_hash(run, results):
    x, y = rows_of("digits")
    subject = results.subject
    assert subject.train_sha256 == open_any(run).problem.sha256
    alone = evaluate(run, test=(x, y)).subject
    assert alone == msgspec.structs.replace(subject, sets_sha256={})
    assert set(subject.sets_sha256) == {"shift digits-shift", "ood photos-sklearn"}
    changed = x.copy()
    changed[-1].flat[0] ^= 1
    for other in ((changed, y), (x, np.roll(y, 1))):
        found = evaluate(run, test=other).subject
        assert found.test_sha256 != subject.test_sha256
        assert found.train_sha256 == subject.train_sha256


def test_each_labelled_set_has_every_metric_and_each_draw_its_own(results, logits):
    train = rows_of("digits", "train")
    for split, (x, y) in (
        (results.test, rows_of("digits")),
        (results.validation, rows_of("digits", "validation")),
        (results.train, (train.x[:60], train.y[:60])),
        (results.shifts["digits-shift"], rows_of("digits-shift")),
    ):
        z = logits(x)
        assert split.rows == len(x) and list(split.metrics) == list(METRICS)
        close(split.metrics, measure(z, y))
        for name in ("err", "nll", "ece"):
            close(split.by_draw[name], [measure(draw, y, [name])[name] for draw in z])


def test_curves_are_over_the_first_draws_and_over_windows_of_half(results, logits):
    (x, y), names = rows_of("digits"), ["err", "nll", "ece", "brier"]
    z = logits(x)
    assert results.by_draws.at == [1, 2, 3] and list(results.by_draws.values) == names
    for count in results.by_draws.at:
        for name, value in measure(z[:count], y, names).items():
            close(results.by_draws.values[name][count - 1], value)
    curve = results.by_burn_in
    assert curve.at == [0, 1, 2]  # windows of one draw
    close(curve.values["ensemble_nll"], results.test.by_draw["nll"])
    close(curve.values["individual_err"], results.test.by_draw["err"])


def test_calibration_and_risk_add_up(results):
    bins = results.reliability
    assert sum(bins.count) == 500 and len(bins.edges) == 16
    assert [c is None for c in bins.confidence] == [n == 0 for n in bins.count]
    right = sum(n * a for n, a in zip(bins.count, bins.accuracy, strict=True) if n)
    close(1 - right / 500, results.test.metrics["err"])
    risks = results.risk_coverage
    assert len(risks.coverage) == 200 and risks.coverage[-1] == 1.0
    close(risks.risk[-1], results.test.metrics["err"])


def test_corruptions_are_measured_one_by_one_and_pooled_row_by_row(results, logits):
    x, y = (part[:ROWS] for part in rows_of("digits"))
    found, names = results.corruptions, list(CORRUPTIONS)
    assert found.names == names and found.severities == [1, 2, 3, 4, 5]
    assert list(found.pooled) == ["1", "2", "3", "4", "5", "all"]
    z = logits(corrupt(x, "fog", 3, seed=0))
    for name, value in measure(z, y).items():
        close(found.values[name][names.index("fog")][2], value)
    z = logits(np.concatenate([corrupt(x, name, 2, seed=0) for name in names]))
    close(found.pooled["2"].metrics, measure(z, np.tile(y, 19)))
    assert found.pooled["2"].rows == 19 * ROWS and found.pooled["all"].rows == 95 * ROWS
    mean = np.mean([found.pooled[str(s)].metrics["nll"] for s in found.severities])
    close(found.pooled["all"].metrics["nll"], mean)


def test_pairs_are_told_apart_by_entropy_on_seeded_subsets(run, results, logits):
    pair = results.out_of_distribution["photos-sklearn"]
    assert (pair.rows_inside, pair.rows_outside, pair.subsets) == (400, 400, 5)
    assert all(pair.spread[name] > 0.0 for name in pair.metrics)
    assert sum(pair.inside) == sum(pair.outside) == 400 and len(pair.edges) == 31
    assert pair.false_alarms[0] == pair.detections[0] == 0.0
    assert pair.false_alarms[-1] == pair.detections[-1] == 1.0
    area = np.trapezoid(pair.detections, pair.false_alarms)
    assert area == pytest.approx(pair.metrics["auroc"], abs=0.05)
    # With all rows there is nothing to draw, and the numbers are those of the plain formula.
    whole = evaluate(run, settings=[*OUTSIDE, "--evaluate.subset", "1000"])
    pair = whole.out_of_distribution["photos-sklearn"]
    sides = [uncertainty(logits(rows_of(name).x)).total for name in ("digits", "photos-sklearn")]
    close(pair.metrics, detection(*sides))
    assert (pair.rows_inside, pair.rows_outside, pair.subsets) == (500, 1000, 1)
    assert set(pair.spread.values()) == {0.0}


def test_the_gallery_shows_the_most_and_least_certain_images(results, logits):
    x, y = rows_of("digits")
    entropy, gallery = uncertainty(logits(x)).total, results.gallery
    assert gallery.shape == (8, 8, 1) and gallery.classes == list("0123456789")
    for pictures, expected in (
        (gallery.most_certain, np.sort(entropy)[:8]),
        (gallery.least_certain, np.sort(entropy)[::-1][:8]),
    ):
        close([p.entropy for p in pictures], expected.tolist())
        for p in pictures:
            assert p.pixels == x[p.row].tobytes() and p.label == y[p.row]
            close(sum(p.probabilities), 1.0)


def test_one_program_is_compiled_and_kept_outputs_need_no_draw(run, results, tmp_path, monkeypatch):
    traced, read, load_draw = [], [], StoredRun.load_draw
    plain = px.open(run).problem.apply

    def apply(params, x):
        traced.append(x.shape)
        return plain(params, x)

    asked = CORRUPTED + OUTSIDE
    monkeypatch.setattr(
        StoredRun, "load_draw", lambda self, n: read.append(n) or load_draw(self, n)
    )
    first = evaluate(run, asked, tmp_path / "kept", apply=apply)
    assert set(traced) - {(1, 8, 8, 1)} == {
        (100, 8, 8, 1)
    }  # for sets of 30, 60, 297, 500 and 1000 rows
    assert len(read) == 3 * (3 + 1 + 19)  # once a set, all severities being one
    assert len(list((tmp_path / "kept").iterdir())) == 3 + 1 + 19
    del read[:]
    again = evaluate(run, asked, tmp_path / "kept")
    assert read == [] and again == first
    assert again.corruptions == results.corruptions
    with pytest.raises(
        UserError, match=r"On 'gaussian_noise': .* is something else than outputs of"
    ):
        evaluate(run, [*CORRUPTED, "--evaluate.corrupted_rows", "5"], tmp_path / "kept")


def test_chains_are_pooled_and_a_run_that_grew_evaluates_what_is_new(tmp_path, monkeypatch):
    chains = two_chains(tmp_path / "chains", draws=2)
    found = evaluate(chains, outputs=tmp_path / "kept")
    assert found.subject.draws == 4 and len(found.test.by_draw["err"]) == 4
    kept = px.open(chains).read_artifact("results.json")
    assert kept == (chains / "results.json").read_bytes()
    read, load_draw, draws = [], StoredRun.load_draw, StoredRun.draws
    monkeypatch.setattr(
        StoredRun, "load_draw", lambda self, n: read.append(n) or load_draw(self, n)
    )
    monkeypatch.setattr(StoredRun, "draws", property(lambda self: draws.fget(self)[:1]))
    fewer = evaluate(chains, outputs=tmp_path / "fresh")
    assert fewer.subject.draws == 2 and set(read) == {1}
    monkeypatch.setattr(StoredRun, "draws", draws)
    del read[:]
    assert evaluate(chains, outputs=tmp_path / "fresh") == found
    assert read == [2, 2] * 3  # the second draw of each chain, on three sets


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("shifts ['mnist5k']", r"must name sets like 'digits', whose inputs are uint8\[8, 8, 1\]"),
        ("shifts ['photos-sklearn']", "must name sets with test rows of the same 10 classes"),
        ("shifts ['two-moons']", "test rows of the same 10 classes"),
        ("shifts ['digit-shift']", "`evaluate.shifts` cannot be 'digit-shift'; did you mean `digi"),
        ("out_of_distribution ['sinusoid']", r"'sinusoid' has float32\[1\]"),
        ("out_of_distribution ['x']", "`evaluate.out_of_distribution` cannot be 'x'; known: dig"),
        ("corruptions 'cifar10'", "must be true, false or a corrupted copy of 'digits "),
        ("corruptions 'cifar10-c'", "must be true, false or a corrupted copy of 'digits "),
        ("corruptions 'nowhere'", "is no folder; make it by `pxsgmcmc data corrupt`"),
        ("corruptions 3", "`evaluate.corruptions` must be true or false or text, got 3"),
    ],
)
def test_sets_that_do_not_fit_are_refused_before_any_work(run, flags, words):
    setting, value = flags.split(" ", 1)
    with pytest.raises(UserError, match=words):
        evaluate(run, settings=[f"--evaluate.{setting}", value])


def test_a_corrupted_copy_on_disk_is_read_from_there(run, results, tmp_path):
    (tmp_path / "copy").mkdir()
    x, y = (part[:ROWS] for part in rows_of("digits"))
    for name in CORRUPTIONS:
        images = [corrupt(x, name, s, seed=0) for s in (1, 2, 3, 4, 5)]
        np.save(tmp_path / "copy" / f"{name}.npy", np.concatenate(images))
    flags = ["--evaluate.corruptions", "copy", "--evaluate.root", str(tmp_path)]
    with pytest.raises(UserError, match="must name a set with labels, got 'copy'"):
        evaluate(run, settings=flags)
    np.save(tmp_path / "copy/labels.npy", np.tile(y, 5))
    assert evaluate(run, settings=flags).corruptions == results.corruptions


def test_data_without_images_have_neither_gallery_nor_corruptions(tmp_path):
    folder = written(tmp_path / "run", [shaken(0)], data="two-moons")
    assert evaluate(folder).gallery is None
    with pytest.raises(UserError, match=r"needs images, .* and 'two-moons .*' has none"):
        evaluate(folder, settings=["--evaluate.corruptions", "true"])


def test_one_draw_has_every_number_but_no_window(tmp_path):
    found = evaluate(written(tmp_path / "run", [lambda w: w]))
    assert found.by_burn_in is None and found.by_draws.at == [1]
    assert found.test.metrics["amb"] == pytest.approx(0.0, abs=1e-9)
    close(found.test.metrics["nll"], found.test.by_draw["nll"][0])


def test_predictions_that_are_all_equal_tell_nothing(tmp_path):
    flags = ["--evaluate.out_of_distribution", '["photos-skimage"]']
    found = evaluate(written(tmp_path / "run", [lambda w: 0 * w] * 2, *flags))
    close(found.test.metrics["nll"], np.log(10))
    close(found.test.metrics["epistemic"], 0.0)
    assert found.out_of_distribution["photos-skimage"].metrics["auroc"] == 0.5
    risks = set(np.round(found.risk_coverage.risk, 9))
    assert risks == {round(found.test.metrics["err"], 9)}


def test_outputs_that_are_not_finite_are_an_error_that_names_draw_and_set(tmp_path):
    folder = written(tmp_path / "run", [lambda w: w, lambda w: w * np.nan])
    with pytest.raises(UserError, match="On 'test': Draw 2 gives outputs that are not finite"):
        evaluate(folder)
