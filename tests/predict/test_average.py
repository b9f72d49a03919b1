"""The streamed average equals the plain one, and needs no more memory for more draws."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pxsgmcmc as px
from pxsgmcmc.errors import UserError
from pxsgmcmc.metrics import log_mean_probabilities, uncertainty
from pxsgmcmc.predict import predict
from tests.helpers.closeness import tolerance


def apply(params, x):
    return x @ params["w"] + params["b"][None]


def problem(apply=apply, classes=4):
    """A classification whose data are there for their shapes alone."""
    train = np.zeros((classes, 3), np.float32), np.arange(classes)
    return px.Problem(apply, px.likelihoods.categorical(), train=train)


def draws_and_inputs(draws=5, data=23, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    params = [
        {
            "w": jnp.asarray(3 * rng.normal(size=(3, classes)), jnp.float32),
            "b": jnp.asarray(rng.normal(size=classes), jnp.float32),
        }
        for _ in range(draws)
    ]
    return params, rng.normal(size=(data, 3)).astype(np.float32)


def all_logits(params, x):
    return np.stack([np.asarray(jax.jit(apply)(p, x)) for p in params])


TERMS = 4  # of a logit: three products and the bias


def sizes_of_terms(params, x):
    """The absolute values of the terms of each logit, added up."""
    return np.stack([apply(jax.tree.map(abs, p), abs(x)) for p in params])


def assert_close_predictions(found, expected, params, x):
    """Everything after the logits is computed in float64: errors are those of the logits.

    A change of all logits by at most e changes log p by 2 e at most, and an entropy of K classes
    by 2 e (log K + 1) at most.
    """
    e = tolerance(TERMS, sizes_of_terms(params, x).max())
    probabilities, *entropies = found[:4]
    np.testing.assert_allclose(probabilities, expected[0], rtol=2 * e + 1e-12)
    limit = 2 * e * (np.log(probabilities.shape[1]) + 1) + 1e-12
    for ours, theirs in zip(entropies, expected[1:4], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=2 * limit)  # epistemic: two of them


@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(st.integers(1, 6), st.integers(1, 30), st.integers(1, 40))
def test_it_equals_the_average_of_everything_at_once(draws, data, batch_size):
    params, x = draws_and_inputs(draws, data)
    found = predict(problem(), params, x, batch_size=batch_size)
    logits = all_logits(params, x).astype(np.float64)
    expected = np.exp(log_mean_probabilities(logits)), *uncertainty(logits)
    assert_close_predictions(found, expected, params, x)
    assert found.draws == draws


def test_draws_are_read_once_and_compiled_once():
    params, x = draws_and_inputs()
    traced = 0

    def counted(p, x):
        nonlocal traced
        traced += 1
        return apply(p, x)

    done = []
    predict(problem(counted), iter(params), x, batch_size=10, report=done.append)
    assert traced == 1 and done == [1, 2, 3, 4, 5]


def test_bad_input_is_named():
    params, x = draws_and_inputs()
    with pytest.raises(UserError, match="There must be at least one draw to predict with"):
        predict(problem(), [], x)
    with pytest.raises(UserError, match="`x` must hold at least one"):
        predict(problem(), params, x[:0])
    with pytest.raises(UserError, match="Draw 2 gives outputs that are not finite"):
        predict(problem(), [params[0], {"w": params[0]["w"] * jnp.nan, "b": params[0]["b"]}], x)
    with pytest.raises(UserError, match="`apply` must give logits of shape"):
        predict(problem(lambda p, x: x @ p["w"][:, 0]), params, x)
    with pytest.raises(UserError, match="`batch_size` must be a whole number of at least 1"):
        predict(problem(), params, x, batch_size=0)


PEAK = """
import resource, sys
import numpy as np
import pxsgmcmc as px
from pxsgmcmc.predict import predict
draws, data, classes = map(int, sys.argv[1:])
x = np.zeros((data, 1), np.float32)
train = np.zeros((classes, 1), np.float32), np.arange(classes)
problem = px.Problem(lambda w, x: x @ w, px.likelihoods.categorical(), train=train)
predict(problem, [np.zeros((1, classes), np.float32)], x[:1000])
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
predict(problem, (np.full((1, classes), i, np.float32) for i in range(draws)), x)
print(peak() - before)
"""


def extra_memory(draws, data, classes=10):
    command = [sys.executable, "-c", PEAK, str(draws), str(data), str(classes)]
    # Threads, and their heaps with them, come by the number of cores unless it is said.
    environment = os.environ | {"PJRT_NPROC": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return int(done.stdout)


def test_memory_is_that_of_the_running_sums_whatever_the_number_of_draws():
    # 8 bytes for each class and three entropies a row, as the process holds them.
    data = 100_000
    kept, logits = data * 13 * 8, data * 10 * 4  # logits: of one draw
    few, many = extra_memory(2, data), extra_memory(30, data)
    # Pages may be large, so a process never has just what it asked for; 28 more draws would show.
    assert many < kept + 2 * logits
    assert many < few + 2 * logits
