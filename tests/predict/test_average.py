"""The streamed average equals the plain one, and needs no more memory for more draws."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pxsgmcmc.errors import UserError
from pxsgmcmc.metrics import log_mean_probabilities, uncertainty
from pxsgmcmc.predict import LogitFile, predict


def apply(params, x):
    return x @ params["w"] + params["b"][None]


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


@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(st.integers(1, 6), st.integers(1, 30), st.integers(1, 40))
def test_it_equals_the_average_of_everything_at_once(draws, data, batch_size):
    params, x = draws_and_inputs(draws, data)
    found = predict(apply, params, x, batch_size=batch_size)
    logits = all_logits(params, x)
    np.testing.assert_allclose(
        found.probabilities, np.exp(log_mean_probabilities(logits)), rtol=1e-5
    )
    total, aleatoric, epistemic = uncertainty(logits)
    np.testing.assert_allclose(found.entropy, total, atol=1e-6)
    np.testing.assert_allclose(found.aleatoric, aleatoric, atol=1e-6)
    np.testing.assert_allclose(found.epistemic, epistemic, atol=1e-6)
    assert found.draws == draws


def test_draws_are_read_once_and_compiled_once():
    params, x = draws_and_inputs()
    traced = 0

    def counted(p, x):
        nonlocal traced
        traced += 1
        return apply(p, x)

    done = []
    predict(counted, iter(params), x, batch_size=10, report=done.append)
    assert traced == 1 and done == [1, 2, 3, 4, 5]


def test_kept_logits_are_those_computed_and_only_new_draws_are_evaluated(tmp_path):
    params, x = draws_and_inputs(draws=6)
    kept = LogitFile(tmp_path / "a.logits", x, classes=4)
    first = predict(apply, params[:4], x, batch_size=7, logits=kept)
    evaluated = []

    def counted(p, x):
        jax.debug.callback(lambda: evaluated.append(1))
        return apply(p, x)

    both = predict(counted, params, x, batch_size=30, logits=kept)
    jax.effects_barrier()
    assert len(evaluated) == 2  # draws 5 and 6, one batch each
    assert len(kept) == 6
    np.testing.assert_allclose(kept.array(), all_logits(params, x), rtol=1e-6)
    plain = predict(apply, params, x)
    np.testing.assert_allclose(both.probabilities, plain.probabilities, atol=1e-7)
    np.testing.assert_allclose(
        first.probabilities, predict(apply, params[:4], x).probabilities, atol=1e-7
    )


def test_a_draw_that_changed_is_evaluated_again_and_a_torn_block_too(tmp_path):
    params, x = draws_and_inputs(draws=3)
    kept = LogitFile(tmp_path / "a.logits", x, classes=4)
    predict(apply, params, x, logits=kept)
    changed = [params[0], jax.tree.map(lambda leaf: leaf + 1.0, params[1]), params[2]]
    again = predict(apply, changed, x, logits=kept)
    np.testing.assert_allclose(
        again.probabilities, predict(apply, changed, x).probabilities, atol=1e-7
    )
    path = tmp_path / "a.logits"
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size - 5)
    assert len(kept) == 2
    torn = predict(apply, changed, x, logits=kept)
    np.testing.assert_array_equal(torn.probabilities, again.probabilities)


def test_a_file_for_other_inputs_is_refused(tmp_path):
    _, x = draws_and_inputs()
    LogitFile(tmp_path / "a.logits", x, classes=4)
    for other, classes in ((x + 1, 4), (x, 5), (x[:-1], 4)):
        with pytest.raises(UserError, match="logits of other inputs"):
            LogitFile(tmp_path / "a.logits", other, classes=classes)


def test_bad_input_is_named():
    params, x = draws_and_inputs()
    with pytest.raises(UserError, match="`draws` must hold at least one"):
        predict(apply, [], x)
    with pytest.raises(UserError, match="`x` must hold at least one"):
        predict(apply, params, x[:0])
    with pytest.raises(UserError, match="Draw 2 gives logits that are not finite"):
        predict(apply, [params[0], {"w": params[0]["w"] * jnp.nan, "b": params[0]["b"]}], x)
    with pytest.raises(UserError, match="must give logits"):
        predict(lambda p, x: x @ p["w"][:, 0], params, x)


PEAK = """
import resource, sys
import numpy as np
from pxsgmcmc.predict import predict
draws, data, classes = map(int, sys.argv[1:])
x = np.zeros((data, 1), np.float32)
apply = lambda w, x: x @ w
predict(apply, [np.zeros((1, classes), np.float32)], x[:1000])
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
predict(apply, (np.full((1, classes), i, np.float32) for i in range(draws)), x)
print(peak() - before)
"""


def extra_memory(draws, data, classes=10):
    command = [sys.executable, "-c", PEAK, str(draws), str(data), str(classes)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_memory_is_that_of_the_running_sums_whatever_the_number_of_draws():
    # 8 bytes for each class and three entropies a row, as the process holds them.
    data = 100_000
    kept = data * 13 * 8
    few, many = extra_memory(2, data), extra_memory(30, data)
    assert many < kept + 3e6
    assert many < few + 3e6
