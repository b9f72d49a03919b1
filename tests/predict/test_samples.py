"""`run.predict(x)` on a chain started from Python."""

import jax.numpy as jnp
import numpy as np
import pytest

import pxsgmcmc as px
from pxsgmcmc.predict import LogitFile, predict

X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int32)


def apply(params, x):
    return x @ params["w"]


def sampled(out=None, **more):
    U = px.classification(apply, data_size=len(X), prior=px.normal(1.0))
    start = {"w": jnp.zeros((3, 2))}
    return px.sample(
        px.sghmc(U, 0.01, friction=1.0),
        start,
        (X, Y),
        **dict(draws=3, steps=4, batch_size=10, out=out, progress=False),
        **more,
    )


@pytest.mark.parametrize("stored", [False, True])
def test_a_chain_that_knows_its_network_predicts(stored, tmp_path):
    run = sampled(tmp_path / "run" if stored else None, apply=apply)
    kept = LogitFile(tmp_path / "a.logits", X, classes=2)
    found = run.predict(X, batch_size=7, logits=kept)
    expected = predict(apply, list(run), X)
    np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-7)
    assert found.draws == len(kept) == 3


def test_one_that_was_not_told_says_what_to_do():
    with pytest.raises(px.UserError, match="needs the network: pass `apply=` to `sample`"):
        sampled().predict(X)
