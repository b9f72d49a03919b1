"""The run of an estimator, judged on rows that were held out."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.exceptions import NotFittedError

from pxsgmcmc.errors import UserError
from pxsgmcmc.sklearn import PXClassifier, PXRegressor
from tests.helpers.users_jax import as_users_have_it

SMALL = {"network": (4,), "draws": 4, "chains": 2, "random_state": 0}
X = np.random.default_rng(0).normal(size=(60, 2))
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_the_run_on_held_out_rows_is_evaluated_drawn_and_exported(tmp_path):
    y = np.where(X[:, 0] > 0, "right", "left")
    fitted = PXClassifier(**SMALL).fit(X[:50], y[:50])
    fitted.set_params(out=tmp_path / "run").fit(X[:50], y[:50])
    run = fitted.run_on(X[50:], y[50:])
    with as_users_have_it():
        error = run.evaluate().test.metrics["err"]
        assert error == pytest.approx(1.0 - fitted.score(X[50:], y[50:]))
        assert (
            run.read_artifact("results.json") and not (tmp_path / "run" / "results.json").exists()
        )
        pyplot = pytest.importorskip("matplotlib.pyplot", reason="the extra `report` is missing")
        assert run.plot.reliability().get_xlabel()
        pyplot.close("all")
        assert "10 test rows" in str(run.export(tmp_path / "model.px", draws=2))
    assert fitted.run_.problem.test is None


def test_numbers_are_judged_in_their_own_units():
    y = 100.0 + 10.0 * X[:, 0]
    fitted = PXRegressor(**SMALL).fit(X[:50], y[:50])
    with as_users_have_it():
        found = fitted.run_on(X[50:], y[50:]).evaluate().test.metrics["rmse"]
    exact = float(np.sqrt(np.mean((fitted.predict(X[50:]) - y[50:]) ** 2)))
    assert found == pytest.approx(exact, rel=1e-3)  # float32 numbers of size 100
    with pytest.raises(ValueError, match="must be 1 a row, got 2"):
        fitted.run_on(X, X)


def test_without_rows_to_judge_it_on_it_says_how_to_give_them():
    fitted = PXClassifier(**SMALL).fit(X, X[:, 0] > 0)
    with pytest.raises(UserError, match=r"of an estimator, `run_on\(X, y\)`"):
        fitted.run_.evaluate()
    with pytest.raises(NotFittedError):
        PXClassifier().run_on(X, X[:, 0] > 0)
