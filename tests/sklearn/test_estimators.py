"""The estimators as people use them: labels, weights, frames, pipelines, dumps, own networks."""

import io
import os
import signal
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers.cli_calls import assert_one_line, call
from tests.helpers.users_jax import as_users_have_it

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

import pxsgmcmc as px  # noqa: E402
from pxsgmcmc.errors import UserError  # noqa: E402
from pxsgmcmc.run.health import last_cycle_temperatures  # noqa: E402
from pxsgmcmc.sklearn import PXClassifier, PXRegressor  # noqa: E402
from pxsgmcmc.sklearn.programs import program_for  # noqa: E402
from pxsgmcmc.sklearn.regressor import NOISE_FLOOR  # noqa: E402

SMALL = {"network": (4,), "draws": 4, "chains": 2, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return X, np.where(X[:, 0] + 0.2 * rng.normal(size=60) > 0, "right", "left")


@pytest.fixture(scope="module")
def classifier(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return PXClassifier(**SMALL).fit(*rows)


@pytest.fixture(scope="module")
def regressor(rows):
    X = rows[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        noise = np.random.default_rng(1).normal(size=60)
        return PXRegressor(**SMALL).fit(X, 100.0 + 10.0 * X[:, 0] + noise)


def test_string_labels_come_back_with_probabilities(classifier, rows):
    X, y = rows
    p = classifier.predict_proba(X)
    assert set(classifier.predict(X)) == {"left", "right"}
    assert np.allclose(p.sum(axis=1), 1.0) and classifier.score(X, y) > 0.85
    assert classifier.predict_epistemic(X).min() >= 0.0


def test_the_run_predicts_the_same_from_raw_inputs(classifier, regressor, rows):
    X = rows[0].astype(np.float32)
    with as_users_have_it():
        of_run = classifier.run_.predict(X)
        numbers = regressor.run_.predict(X)
    # Sums of float32 logits over 2 features and 4 units, of size about 1.
    assert np.abs(of_run.probabilities - classifier.predict_proba(X)).max() < 1e-5
    assert np.abs(numbers.mean[:, 0] - regressor.predict(X)).max() < 1e-3


def test_intervals_quantiles_and_deviations_belong_together(regressor, rows):
    X = rows[0]
    mean, std = regressor.predict(X, return_std=True)
    low, high = regressor.predict_interval(X, coverage=0.8).T
    assert (low < high).all() and (std > regressor.predict_epistemic(X)).all()
    assert mean.shape == std.shape == (60,)
    same = regressor.predict_quantiles(X, (0.1, 0.9))
    assert np.allclose(same, np.stack([low, high], axis=1))  # levels differ by a rounding


def test_several_targets_keep_their_shape(rows):
    X = rows[0]
    fitted = PXRegressor(**SMALL).fit(X, np.stack([X[:, 0], -X[:, 1]], axis=1) + 0.3 * X[::-1])
    assert fitted.predict(X).shape == (60, 2) and fitted.predict_interval(X).shape == (60, 2, 2)


def test_weights_are_repetitions_bit_for_bit_in_any_order(rows):
    X, y = rows
    times = np.arange(60) % 3
    order = np.random.default_rng(1).permutation(times.sum())
    repeated = np.repeat(np.arange(60), times)[order]
    weighted = PXClassifier(**SMALL).fit(X, y, sample_weight=times)
    plain = PXClassifier(**SMALL).fit(X[repeated], y[repeated])
    assert np.array_equal(weighted.predict_proba(X), plain.predict_proba(X))


def test_balanced_classes_take_weights_for_repetitions_too(rows):
    X, y = rows
    times = np.where(y == "left", np.arange(60) % 4, 1)
    repeated = np.repeat(np.arange(60), times)
    settings = {**SMALL, "class_weight": "balanced"}
    p = PXClassifier(**settings).fit(X[repeated], y[repeated]).predict_proba(X)
    weighted = PXClassifier(**settings).fit(X, y, sample_weight=times)
    assert np.array_equal(weighted.predict_proba(X), p)
    # Of rows these are three classes, of weights two.
    unseen = PXClassifier(**settings).fit(X, np.where(times == 0, "nowhere", y), times)
    assert np.array_equal(unseen.predict_proba(X), p)


def test_a_second_fit_of_the_same_shapes_compiles_nothing(classifier, rows, caplog):
    X, y = rows
    before = program_for.cache_info().misses
    with jax.log_compiles(True):
        PXClassifier(**{**SMALL, "random_state": 5}).fit(X[:50] * 3.0, y[:50])
    compiled = [r.message for r in caplog.records if "Finished XLA compilation" in r.message]
    assert program_for.cache_info().misses == before
    assert not [line for line in compiled if "advance" in line], compiled


def test_pipelines_searches_and_clones(rows):
    X, y = rows
    pipeline = make_pipeline(StandardScaler(), PXClassifier(**SMALL))
    search = GridSearchCV(pipeline, {"pxclassifier__prior": [0.5, 2.0]}, cv=2).fit(X, y)
    assert search.best_params_["pxclassifier__prior"] in (0.5, 2.0) and search.best_score_ > 0.8
    assert clone(pipeline).get_params()["pxclassifier__draws"] == 4


def test_dumps_hold_no_array_of_jax_and_predict_alike(classifier, regressor, rows):
    joblib = pytest.importorskip("joblib")
    for fitted in (classifier, regressor):
        leaves = jax.tree.leaves(vars(fitted._fitted), is_leaf=lambda x: hasattr(x, "_arrays"))
        assert not any(isinstance(leaf, jax.Array) for leaf in leaves)
        file = io.BytesIO()
        joblib.dump(fitted, file)
        again = joblib.load(io.BytesIO(file.getvalue()))
        assert np.array_equal(again.predict(rows[0]), fitted.predict(rows[0]))
        assert len(again.run_) == 8


def _own(kind):
    if kind == "pair":

        def init(key):
            return {"kernel": jax.random.normal(key, (2, 2)), "bias": jnp.zeros(2)}

        return init, lambda params, x: x @ params["kernel"] + params["bias"][None]
    if kind == "equinox":
        equinox = pytest.importorskip("equinox", reason="Equinox is not installed")
        return equinox.nn.MLP(2, 2, 4, 1, key=jax.random.key(0))
    flax = pytest.importorskip("flax", reason="Flax is not installed")
    del flax
    if kind == "linen":
        from flax import linen

        return linen.Dense(2)
    from flax import nnx

    return nnx.Linear(2, 2, rngs=nnx.Rngs(0))


@pytest.mark.parametrize("kind", ["pair", "nnx", "linen", "equinox"])
def test_networks_of_every_library_are_taken(kind, rows):
    X, y = rows
    with as_users_have_it():
        fitted = PXClassifier(**{**SMALL, "network": _own(kind)}).fit(X, y)
    assert fitted.score(X, y) > 0.85


def test_a_larger_number_of_draws_extends_a_fit_bit_for_bit(rows, tmp_path):
    X, y = rows
    at_once = PXClassifier(**{**SMALL, "draws": 6}).fit(X, y)
    for out in (None, tmp_path / "run"):
        fitted = PXClassifier(**SMALL, out=out, warm_start=True).fit(X, y)
        fitted.set_params(draws=6).fit(X, y)
        assert len(fitted.run_) == 12
        assert np.array_equal(fitted.predict_proba(X), at_once.predict_proba(X)), out
    with pytest.raises(UserError, match=r"`draws` must be at least 6, which the run has"):
        fitted.set_params(draws=5).fit(X, y)
    with pytest.raises(UserError, match=r"`out` holds a run already.*`warm_start=True`"):
        PXClassifier(**SMALL, out=out).fit(X, y)
    with pytest.raises(UserError, match="other training data"):
        fitted.fit(X[:50], y[:50])


def test_a_run_directory_predicts_elsewhere_without_its_problem(regressor, rows, tmp_path):
    X, y = rows
    out = tmp_path / "labels"
    fitted = PXClassifier(**SMALL, out=out).fit(X, y)
    x = X[:5].astype(np.float32)
    with as_users_have_it():
        found = px.open(out).predict(x)
        # Sums of float32 logits over 2 features and 4 units, of size about 1.
        assert np.abs(found.probabilities - fitted.predict_proba(x)).max() < 1e-5
        np.savetxt(tmp_path / "new.csv", x, delimiter=",")
        said = call("predict", str(out), str(tmp_path / "new.csv"), "-o", str(tmp_path / "p.npy"))
        assert said.code == 0, said
        assert np.abs(np.load(tmp_path / "p.npy") - found.probabilities).max() < 1e-5
        assert_one_line(call("diagnose", str(out)), 2, "rows are not kept", "--problem")
        out = tmp_path / "numbers"
        numbers = PXRegressor(**SMALL, out=out).fit(X, 100.0 + 10.0 * X[:, 0] + X[:, 1] ** 2)
        mean = px.open(out).predict(x).mean[:, 0]
        assert np.abs(mean - numbers.predict(x)).max() < 1e-3  # of size 100 in float32
        out = tmp_path / "own"
        PXClassifier(**{**SMALL, "network": _own("pair")}, out=out).fit(X, y)
        with pytest.raises(UserError, match="`predict` needs to know the problem"):
            px.open(out).predict(x)


@pytest.mark.parametrize("target", ["a line", "a constant"])
def test_targets_without_noise_leave_noise_at_its_floor_and_chains_at_their_temperature(
    target, rows
):
    X, _ = rows
    y = 3.0 + (0.0 if target == "a constant" else 2.0) * X[:, 0]
    # As long as it takes: a busy machine must not cut the chains short.
    settings = {"network": (4,), "draws": 30, "random_state": 0, "max_seconds": 1e6}
    fitted = PXRegressor(**settings).fit(X, y)
    # Without a floor the noise fell without end and base ran at 400. R-hat is not judged here:
    # that of 30 draws is above 1.1 now and then.
    for heat in last_cycle_temperatures(fitted.run_).values():
        assert 0.6 < heat.value < 1.5, fitted.run_.verdict
    mean, std = fitted.predict(X, return_std=True)
    scale = y.std() or 1.0  # of constant targets, 1
    assert np.abs(mean - y).max() < 0.2 * scale
    assert (std >= NOISE_FLOOR * scale).all() and np.median(std) < 3.0 * NOISE_FLOOR * scale


def test_ctrl_c_in_fit_is_a_keyboard_interrupt(rows, monkeypatch):
    from pxsgmcmc.tuning.engine import chains

    def interrupted(*given):
        os.kill(os.getpid(), signal.SIGINT)
        return whole(*given)

    whole = chains._Advance.__call__
    monkeypatch.setattr(chains._Advance, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt, match="Interrupted before the last draw"):
        PXClassifier(**SMALL).fit(*rows)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"draws": 0}, "`draws` must be a whole number of at least 1"),
        ({"sampler": "nuts"}, "`sampler` must be one of sghmc, sgnht, sgld"),
        ({"network": "deep"}, "`network` must be widths of hidden layers"),
        ({"prior": "wide"}, "`prior` must be made by"),
        ({"prior": -1}, "`prior` must be a number greater than 0, got -1"),
    ],
)
def test_bad_settings_are_named(setting, sentence, rows):
    with pytest.raises(UserError, match=sentence):
        PXClassifier(**{**SMALL, **setting}).fit(*rows)


@pytest.mark.parametrize("sampler", ["sgld", "sgnht"])
def test_other_samplers_fit_too(rows, sampler):
    X, y = rows
    assert PXClassifier(**SMALL, sampler=sampler).fit(X, y).score(X, y) > 0.8


def test_a_report_says_that_it_is_judged_on_the_rows_it_was_fitted_to(classifier, tmp_path):
    page = classifier.report(tmp_path / "page.html").read_text("utf-8")
    assert "PXClassifier, judged on the rows it was fitted to" in page
    assert "What is called test rows here are the training rows" in page


def test_a_report_is_judged_on_rows_that_were_held_out(classifier, rows, tmp_path):
    X, y = rows
    page = classifier.report(tmp_path / "page.html", held_out=(X[:7], y[:7])).read_text("utf-8")
    assert "PXClassifier, judged on 7 held-out rows" in page
    assert "are the training rows" not in page
    strange = np.full(7, "nowhere")
    with pytest.raises(ValueError, match=r"must be among the fitted ones, .*; got 'nowhere'"):
        classifier.report(tmp_path / "page.html", held_out=(X[:7], strange))
