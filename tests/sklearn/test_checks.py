"""scikit-learn's own checks, all of them and none expected to fail."""

import warnings

import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

from pxsgmcmc.sklearn import PXClassifier, PXRegressor
from tests.helpers.users_jax import as_users_have_it

# Of the checks none asks how good a fit is but for training errors on easy rows.
SHORT = {"network": (8,), "draws": 5, "chains": 2}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [PXClassifier, PXRegressor])
def test_every_check_of_scikit_learn_passes(kind):
    with as_users_have_it(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        results = check_estimator(kind(**SHORT), on_skip=None, on_fail="raise")
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    assert len(results) > 50
