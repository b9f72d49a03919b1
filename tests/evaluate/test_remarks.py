import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.evaluate.remarks import remarks_on

X = np.arange(8.0, dtype=np.float32).reshape(4, 2)


def classes(*test):
    return px.Problem(
        lambda params, x: x @ params,
        px.likelihoods.categorical(),
        train=(X, np.array([0, 1, 1, 2])),
        test=(X, np.array(test)),
        names=("ant", "bee", "cat"),
    )


@pytest.mark.parametrize(("err", "remarked"), [(0.4, False), (0.5, True), (0.9, True)])
def test_an_error_no_better_than_the_commonest_class_is_remarked_on(err, remarked):
    remarks = remarks_on(classes(1, 1, 0, 2), {"err": err})
    assert bool(remarks) == remarked
    assert not remarks or "answering 'bee', the commonest class, every time (0.5)" in remarks[0]


def test_no_error_is_no_worse_than_a_guess_that_is_always_right():
    assert remarks_on(classes(1, 1, 1, 1), {"err": 0.0}) == []


@pytest.mark.parametrize(("rmse", "remarked"), [(0.9, False), (1.0, True)])
def test_an_rmse_no_better_than_the_mean_is_remarked_on(rmse, remarked):
    problem = px.Problem(
        lambda params, x: jnp.sum(x, axis=1, keepdims=True) * params,
        px.likelihoods.gaussian(0.1),
        train=(X, np.array([0.0, 0.0, 2.0, 2.0])),
        test=(X, np.array([0.0, 2.0, 0.0, 2.0])),
    )
    assert len(remarks_on(problem, {"rmse": rmse})) == remarked


def test_training_rows_in_the_place_of_test_rows_are_remarked_on():
    assert "are the training rows" in remarks_on(classes(0, 1, 1, 2), {"err": 0.0})[0]
