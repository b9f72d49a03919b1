"""What estimators say of settings and rows that cannot work: the argument, the rule, the remedy."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from pxsgmcmc.chain.divergence import ADVICE
from pxsgmcmc.errors import Diverged, UserError
from pxsgmcmc.sklearn import PXClassifier, PXRegressor, estimator

SMALL = {"network": (4,), "draws": 4, "chains": 2, "random_state": 0}
X = np.random.default_rng(0).normal(size=(60, 2))
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_a_fit_that_diverges_advises_what_an_estimator_has(monkeypatch):
    def diverged(*given):
        raise Diverged(f"The energy is not finite (steps 0 to 9). {ADVICE}")

    monkeypatch.setattr(estimator, "run_chains", diverged)
    with pytest.raises(Diverged, match=r"not finite \(.*`sample_weight`.* `prior`") as found:
        PXClassifier(**SMALL).fit(X, X[:, 0] > 0)
    assert "step_size" not in str(found.value)


def test_an_out_that_is_no_path_is_named():
    with pytest.raises(UserError, match=r"`out` must be a path or None, got 3\."):
        PXClassifier(**SMALL, out=3).fit(X, X[:, 0] > 0)


def test_levels_that_are_none_are_called_what_the_user_calls_them():
    fitted = PXRegressor(**SMALL).fit(X, X[:, 0])
    for levels in ([0.5, 1.0], [], [np.nan], "many"):
        with pytest.raises(UserError, match="`quantiles` must be a level between 0 and 1"):
            fitted.predict_quantiles(X, levels)


@pytest.mark.parametrize(("began", "asked"), [(2, 3), (3, 2), (2, 1), (1, 2)])
def test_a_run_goes_on_with_as_many_chains_as_it_began(began, asked, tmp_path):
    """Of three chains two went on and the third stayed behind; of two the first stayed locked."""
    y, out = X[:, 0] > 0, tmp_path / "run"
    PXClassifier(**{**SMALL, "chains": began}, out=out).fit(X, y)
    longer = PXClassifier(**{**SMALL, "chains": asked, "draws": 6}, out=out, warm_start=True)
    with pytest.raises(UserError, match=rf"`chains` must be {began}, as the run .* got {asked}"):
        longer.fit(X, y)
    assert len(longer.set_params(chains=began).fit(X, y).run_) == 6 * began


def test_a_module_with_dropout_is_told_to_switch_it_off():
    linen = pytest.importorskip("flax.linen", reason="Flax is not installed")
    dropout = linen.Sequential([linen.Dropout(0.5, deterministic=False), linen.Dense(2)])
    with pytest.raises(UserError, match="switch dropout off"):
        PXClassifier(**{**SMALL, "network": dropout}).fit(X, X[:, 0] > 0)
