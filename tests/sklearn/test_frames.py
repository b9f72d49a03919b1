"""Data frames of pandas and polars in and out, where they are installed."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.base import clone

from pxsgmcmc.sklearn import PXClassifier, PXRegressor

SMALL = {"network": (4,), "draws": 4, "chains": 2, "random_state": 0}
X = np.random.default_rng(0).normal(size=(60, 2))
LABELS = np.where(X[:, 0] > 0, "right", "left")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_frames_of_pandas_keep_their_names_and_index():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(60) + 7)
    labels = pd.Series(pd.Categorical(LABELS), index=frame.index)
    fitted = PXClassifier(**SMALL).fit(frame, labels).set_output(transform="pandas")
    p = fitted.predict_proba(frame)
    assert list(p.columns) == ["left", "right"] and list(p.index) == list(frame.index)
    assert list(fitted.feature_names_in_) == ["a", "b"]
    assert clone(fitted).set_output(transform="polars")._frames == "polars"


def test_frames_of_polars_come_and_go():
    pl = pytest.importorskip("polars", reason="polars is not installed")
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    labels = pl.Series(LABELS).cast(pl.Enum(["right", "left"]))
    fitted = PXClassifier(**SMALL).fit(frame, labels).set_output(transform="polars")
    assert list(fitted.feature_names_in_) == ["a", "b"]
    p = fitted.predict_proba(frame)
    assert isinstance(p, pl.DataFrame) and p.columns == ["left", "right"]
    plain = PXClassifier(**SMALL).fit(X, LABELS)
    assert np.array_equal(p.to_numpy(), plain.predict_proba(X))
    targets = pl.DataFrame({"one": X[:, 0], "two": -X[:, 1]})
    numbers = PXRegressor(**SMALL).fit(frame, targets)
    assert numbers.run_.problem.names == ("one", "two")
    one = PXRegressor(**SMALL).fit(frame, targets["one"]).set_output(transform="polars")
    assert one.predict_interval(frame).columns == ["0.05", "0.95"]
